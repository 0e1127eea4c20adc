#include "steelyard/http/trace.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "steelyard/http/rewrite.h"

namespace steelyard::http {
namespace {

constexpr std::string_view kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr std::string_view kParent = "00f067aa0ba902b7";
constexpr std::string_view kFine = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const TraceRandom kRandom{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255},
                          {0xab, 0xcd, 0, 0, 0, 0, 0, 1}};

TEST(TraceParent, IsReadStrictly) {
  struct Row {
    std::string_view name;
    std::string value;
    bool valid, sampled;
  };
  const std::string ids = "-" + std::string(kTrace) + "-" + std::string(kParent) + "-";
  const std::string zeros(32, '0');
  for (const Row& row : {
           Row{"plain", std::string(kFine), true, true},
           Row{"not sampled", "00" + ids + "00", true, false},
           Row{"more flags", "00" + ids + "0a", true, false},
           Row{"all flags", "00" + ids + "ff", true, true},
           Row{"later version", "cc" + ids + "01", true, true},
           Row{"later version with more", "01" + ids + "01-more", true, true},
           Row{"later version, no dash", "01" + ids + "01.more", false, false},
           Row{"more in version 00", "00" + ids + "01-more", false, false},
           Row{"version ff", "ff" + ids + "01", false, false},
           Row{"upper case", "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + std::string(kParent) + "-01",
               false, false},
           Row{"upper case version", "0A" + ids + "01", false, false},
           Row{"zero trace", "00-" + zeros + "-" + std::string(kParent) + "-01", false, false},
           Row{"zero parent", "00-" + std::string(kTrace) + "-" + zeros.substr(16) + "-01", false,
               false},
           Row{"no hex in trace",
               "00-xbf92f3577b34da6a3ce929d0e0e4736-" + std::string(kParent) + "-01", false, false},
           Row{"no hex in flags", "00" + ids + "0g", false, false},
           Row{"short", "00" + ids + "0", false, false},
           Row{"wrong dash", "00_" + std::string(kTrace) + "-" + std::string(kParent) + "-01",
               false, false},
           Row{"blank in front", " " + std::string(kFine), false, false},
           Row{"empty", "", false, false},
       }) {
    SCOPED_TRACE(row.name);
    const auto parent = parse_traceparent(row.value);
    ASSERT_EQ(parent.has_value(), row.valid);
    if (!parent) continue;
    EXPECT_EQ(parent->trace_id, kTrace);
    EXPECT_EQ(parent->parent_id, kParent);
    EXPECT_EQ(parent->sampled, row.sampled);
  }
}

Head head_with(const std::vector<Field>& fields) {
  Head head;
  head.method = Method::kGet;
  head.method_text = "GET";
  head.path = "/";
  head.authority = "a";
  head.fields = fields;
  return head;
}

std::string sent(const Head& head, const RequestEdits& edits) {
  std::string out(request_bound(head, edits), '\0');
  const std::size_t size = write_request(head, edits, out.data());
  EXPECT_LE(size, out.size());
  return out.substr(0, size);
}

TEST(Trace, ContinuesWithAParentOfItsOwnAndPassesTheStateOn) {
  const std::vector<Field> fields{{"Traceparent", kFine, FieldId::kTraceParent},
                                  {"tracestate", "a=1", FieldId::kTraceState}};
  const Head head = head_with(fields);
  const Trace trace(head, kRandom, false);
  EXPECT_TRUE(trace.continued());
  EXPECT_EQ(trace.traceparent(), "00-4bf92f3577b34da6a3ce929d0e0e4736-abcd000000000001-01");
  EXPECT_EQ(trace.trace_id(), kTrace);
  EXPECT_EQ(trace.parent_id(), "abcd000000000001");
  EXPECT_TRUE(trace.sampled());
  const std::string text = sent(head, {.scheme = "",
                                       .via = "",
                                       .traceparent = trace.traceparent(),
                                       .new_trace = !trace.continued()});
  EXPECT_EQ(text,
            "GET / HTTP/1.1\r\nHost: a\r\ntracestate: a=1\r\nX-Forwarded-Host: a\r\n"
            "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-abcd000000000001-01\r\n\r\n");
  EXPECT_NE(sent(head, {}).find("Traceparent: " + std::string(kFine)), std::string::npos)
      << "without tracing it passes as it came";
}

TEST(Trace, BeginsANewOneWhenThereIsNoneOrItCannotBeRead) {
  const std::vector<std::vector<Field>> rows{
      {},
      {{"traceparent", "00-x", FieldId::kTraceParent}, {"tracestate", "a=1", FieldId::kTraceState}},
      {{"traceparent", kFine, FieldId::kTraceParent},
       {"traceparent", kFine, FieldId::kTraceParent},
       {"tracestate", "a=1", FieldId::kTraceState}}};
  for (const auto& fields : rows) {
    for (const bool sample : {false, true}) {
      const Head head = head_with(fields);
      const Trace trace(head, kRandom, sample);
      EXPECT_FALSE(trace.continued());
      EXPECT_EQ(trace.traceparent(),
                std::string("00-0102030405060708090a0b0c0d0e0fff-abcd000000000001-0") +
                    (sample ? "1" : "0"));
      const std::string text =
          sent(head, {.traceparent = trace.traceparent(), .new_trace = !trace.continued()});
      EXPECT_EQ(text.find("tracestate"), std::string::npos);
      EXPECT_EQ(text.find(kFine), std::string::npos);
    }
  }
  const Trace zero(head_with({}), {}, false);
  EXPECT_TRUE(parse_traceparent(zero.traceparent())) << "ids are never all zero";
}

TEST(Edits, SetReplacesAndAddStandsBehind) {
  const std::vector<Field> fields{{"X-Deadline", "9"},
                                  {"x-deadline", "8"},
                                  {"Set-Cookie", "a=1", FieldId::kSetCookie},
                                  {"X-Other", "1"}};
  const std::vector<Field> set{{"X-Deadline", "250"}};
  const std::vector<Field> add{{"Set-Cookie", "node=1"}};
  Head head = head_with(fields);
  EXPECT_EQ(sent(head, {.scheme = "", .via = "", .set = set}),
            "GET / HTTP/1.1\r\nHost: a\r\nSet-Cookie: a=1\r\nX-Other: 1\r\nX-Deadline: 250\r\n"
            "X-Forwarded-Host: a\r\n\r\n");
  head.status = 200;
  head.reason = "OK";
  const AnswerEdits edits{.set = set, .add = add};
  std::string out(response_bound(head, edits), '\0');
  out.resize(write_response(head, out.data(), edits));
  EXPECT_EQ(out,
            "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX-Other: 1\r\nX-Deadline: 250\r\n"
            "Set-Cookie: node=1\r\n\r\n");
}

}  // namespace
}  // namespace steelyard::http
