#include "steelyard/http/access_log.h"

#include <gtest/gtest.h>

#include "steelyard/base/rng.h"

#include "test/http/access_property.h"

namespace steelyard::http::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::optional<std::string_view> kFields[] = {"http://ref/?a=1", "curl/7.88.1"};

AccessRecord record() {
  AccessRecord r;
  r.time = std::chrono::sys_time<std::chrono::milliseconds>(1'796'022'860'123ms);
  r.client_ip = "127.0.0.1";
  r.client_port = 4711;
  r.listener = "0.0.0.0:8080";
  r.scheme = "http";
  r.method = "GET";
  r.target = "/stub?x=1";
  r.host = "a.example";
  r.protocol = "HTTP/1.1";
  r.status = 200;
  r.bytes_in = 80;
  r.bytes_out = 240;
  r.body_bytes_out = 100;
  r.duration = 12'345us;
  r.upstream = "api";
  r.node = "node-a";
  r.node_address = "10.0.0.1:80";
  r.node_status = 200;
  r.connect_time = 0ms;
  r.head_time = 1'500us;
  r.answer_time = 11ms;
  r.tries = 1;
  r.pick_reason = "fewest";
  r.request_id = "r-1";
  r.request_fields = kFields;
  return r;
}

std::string line(std::string_view text, const AccessRecord& r,
                 AccessEscape escape = AccessEscape::kText) {
  const auto format = AccessFormat::compile(text, escape);
  EXPECT_TRUE(format) << (format ? "" : format.error().text);
  return format ? line_of(*format, r, 4096) : "";
}

TEST(AccessLog, WritesCombinedAsNginxDoes) {
  EXPECT_EQ(line("combined", record()),
            "127.0.0.1 - - [30/Nov/2026:07:14:20 +0000] \"GET /stub?x=1 HTTP/1.1\" 200 100 "
            "\"http://ref/?a=1\" \"curl/7.88.1\"\n");
  AccessRecord bare;
  bare.time = record().time;
  bare.utc_offset = -(9h + 30min);
  EXPECT_EQ(line("combined", bare), "- - - [29/Nov/2026:21:44:20 -0930] \"-\" - 0 \"-\" \"-\"\n");
}

TEST(AccessLog, WritesJsonAndLeavesOutWhatIsNotKnown) {
  EXPECT_EQ(line("json", record()),
            "{\"ts\":\"2026-11-30T07:14:20.123Z\",\"level\":\"info\",\"msg\":\"request\","
            "\"client_ip\":\"127.0.0.1\",\"status\":200,\"bytes_in\":80,\"bytes_out\":240,"
            "\"duration_ms\":12.345,\"method\":\"GET\",\"proto\":\"HTTP/1.1\",\"scheme\":\"http\","
            "\"listener\":\"0.0.0.0:8080\",\"upstream\":\"api\",\"node\":\"node-a\","
            "\"upstream_addr\":\"10.0.0.1:80\",\"upstream_status\":200,"
            "\"upstream_connect_ms\":0.000,\"upstream_header_ms\":1.500,"
            "\"upstream_response_ms\":11.000,\"attempts\":1,\"pick_reason\":\"fewest\","
            "\"request_id\":\"r-1\",\"host\":\"a.example\",\"uri\":\"/stub?x=1\","
            "\"referer\":\"http://ref/?a=1\",\"user_agent\":\"curl/7.88.1\"}\n");
  AccessRecord bare;
  bare.time = record().time;
  const auto json = nlohmann::json::parse(line("json", bare));
  for (const char* const key : {"status", "node", "upstream_status", "upstream_connect_ms", "uri"})
    EXPECT_FALSE(json.contains(key)) << key;
}

TEST(AccessLog, KnowsNginxsVariables) {
  struct Row {
    std::string_view text, line;
  };
  AccessRecord r = record();
  r.utc_offset = 330min;
  const std::optional<std::string_view> fields[] = {"v1", std::nullopt};
  r.request_fields = fields;
  for (const Row& row : {
           Row{"$remote_addr:$remote_port", "127.0.0.1:4711"},
           Row{"$time_iso8601 $msec", "2026-11-30T12:44:20+05:30 1796022860.123"},
           Row{"$request_method $request_uri $uri $args", "GET /stub?x=1 /stub x=1"},
           Row{"${request_method}x$$1", "GETx$1"},
           Row{"$arg_x $arg_y", "1 -"},
           Row{"$http_x_one $http_two $http_x_one", "v1 - v1"},
           Row{"$sent_http_server", "-"},
           Row{"$request_time $upstream_response_time $upstream_connect_time", "0.012 0.011 0.000"},
           Row{"$status $upstream_status $bytes_sent $request_length", "200 200 240 80"},
           Row{"$upstream $node $upstream_addr $tries $pick_reason $reason",
               "api node-a 10.0.0.1:80 1 fewest -"},
           Row{"$scheme $server_addr $server_protocol $host $ssl_protocol",
               "http 0.0.0.0:8080 HTTP/1.1 a.example -"},
           Row{"$request_id\t$trace_id", "r-1\t-"},
       }) {
    SCOPED_TRACE(row.text);
    EXPECT_EQ(line(row.text, r), std::string(row.line) + "\n");
  }
}

TEST(AccessLog, AsksForEachFieldOnce) {
  const auto format = AccessFormat::compile("$http_A_b $http_c $http_a_B $sent_http_x $status");
  ASSERT_TRUE(format);
  ASSERT_EQ(format->request_fields().size(), 2U);
  EXPECT_EQ(format->request_fields()[0], "a-b");
  EXPECT_EQ(format->request_fields()[1], "c");
  ASSERT_EQ(format->answer_fields().size(), 1U);
  EXPECT_EQ(format->answer_fields()[0], "x");
}

TEST(AccessLog, SaysWhatIsWrongWithAFormat) {
  struct Row {
    std::string_view text, error;
  };
  for (const Row& row : {
           Row{"$remote_addr $requst",
               "column 14: unknown variable \"$requst\", did you mean "
               "\"$request\"?"},
           Row{"${status", "column 1: \"${\" without"},
           Row{"${status x}", "column 1: \"${\" without"},
           Row{"a $ b", "column 3: a name must follow"},
           Row{"$http_", "column 1: unknown variable"},
           Row{"$cookie_a", "column 1: unknown variable"},
           Row{"$status\n", "column 8: a control byte"},
           Row{"combind", "unknown format \"combind\", did you mean \"combined\"?"},
           Row{"xml", "unknown format \"xml\""},
           Row{"", "unknown format"},
       }) {
    SCOPED_TRACE(row.text);
    const auto format = AccessFormat::compile(row.text);
    ASSERT_FALSE(format);
    EXPECT_EQ(format.error().origin, base::Origin::kOperator);
    EXPECT_NE(format.error().text.find(row.error), std::string::npos) << format.error().text;
  }
  EXPECT_FALSE(AccessFormat::compile("$status" + std::string(AccessFormat::kMaxText, 'x')));
  std::string many;
  for (int i = 0; i < 33; ++i) many += "$http_a" + std::to_string(i);
  EXPECT_FALSE(AccessFormat::compile(many));
}

TEST(AccessLog, EscapesWhatWouldForgeOrSteer) {
  AccessRecord r = record();
  r.target = "/a\"\\\n\r\t\x1b[2J\x7f\xc3\xa9";
  EXPECT_EQ(line("$request_uri", r), "/a\\x22\\x5C\\x0A\\x0D\\x09\\x1B[2J\\x7F\\xC3\\xA9\n");
  EXPECT_EQ(line("\"$request_uri\"", r, AccessEscape::kJson),
            "\"/a\\\"\\\\\\u000a\\u000d\\u0009\\u001b[2J\\u007f\xc3\xa9\"\n");
  // overlong, surrogate, above the last letter, cut off; then right-to-left override and C1
  r.target =
      "\xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82|\xe2\x80\xae|\xc2\x9b|\xf0\x9f\x99\x82";
  EXPECT_EQ(line("$request_uri", r, AccessEscape::kJson),
            "\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd "
            "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd "
            "\xef\xbf\xbd\xef\xbf\xbd|\\u202e|\\u009b|\xf0\x9f\x99\x82\n");
}

TEST(AccessLog, OBS_07_ShowsNoSecrets) {
  struct Row {
    std::string_view target, shown;
  };
  AccessRecord r = record();
  for (const Row& row : {
           Row{"/a?token=x&b=2", "/a?token=[redacted]&b=2"},
           Row{"/a?b=2&TOKEN=x", "/a?b=2&TOKEN=[redacted]"},
           Row{"/a?%74oken=x;b", "/a?%74oken=[redacted];b"},
           Row{"/a?tokens=x&to=y&token=&token", "/a?tokens=x&to=y&token=&token"},
           Row{"/a?a=b=c&api_key=k=v", "/a?a=b=c&api_key=[redacted]"},
           Row{"/a#access_token=x", "/a#access_token=[redacted]"},
           Row{"http://u:p@h/a?x", "http://[redacted]@h/a?x"},
           Row{"/?client_secret=x&id_token=y&X-Amz-Signature=z",
               "/?client_secret=[redacted]&id_token=[redacted]&X-Amz-Signature=[redacted]"},
           Row{"/token=x", "/token=x"},
           Row{"/?u=http://h/?token=x", "/?u=http://h/?token=[redacted]"},
       }) {
    SCOPED_TRACE(row.target);
    r.target = row.target;
    EXPECT_EQ(line("$request_uri", r), std::string(row.shown) + "\n");
    EXPECT_EQ(nlohmann::json::parse(line("json", r))["uri"], row.shown);
    const std::optional<std::string_view> fields[] = {row.target};
    r.request_fields = fields;
    EXPECT_EQ(line("$http_referer", r), std::string(row.shown) + "\n");
    r.request_fields = {};
  }
  r.target = "/?token=x&a=1";
  EXPECT_EQ(line("$args $arg_token $arg_a", r), "token=[redacted]&a=1 [redacted] 1\n");
  const std::optional<std::string_view> fields[] = {"Basic eDp5", "x"};
  r.request_fields = r.answer_fields = fields;
  EXPECT_EQ(line("$http_authorization $http_X_Api_Key $sent_http_set_cookie", r),
            "[redacted] [redacted] [redacted]\n");
  for (const std::string_view name :
       {"Authorization", "PROXY-AUTHORIZATION", "cookie", "Set-Cookie", "x-api-key"})
    EXPECT_TRUE(is_secret_field(name)) << name;
  EXPECT_FALSE(is_secret_field("accept"));
}

TEST(AccessLog, TakesAListOfSecretArguments) {
  const std::vector<std::string> names{"Code"};
  const auto format =
      AccessFormat::compile("$request_uri", AccessEscape::kText, SecretArguments(names));
  AccessRecord r = record();
  r.target = "/?code=1&token=2";
  EXPECT_EQ(line_of(*format, r, 100), "/?code=[redacted]&token=2\n");
}

TEST(AccessLog, CutsWhatDoesNotFitAndSaysSo) {
  AccessRecord r = record();
  const std::string longer = "/" + std::string(5000, '\n');
  r.target = longer;
  for (std::size_t size = AccessFormat::kMinLine; size < 600; ++size) {
    const std::string text = line_of(*AccessFormat::compile("$status $request_uri"), r, size);
    EXPECT_TRUE(text.starts_with("200 /\\x0A"));
    EXPECT_TRUE(text.ends_with("\\x0A [cut]\n"));
    EXPECT_GT(text.size() + 4, size);
    const auto json = nlohmann::json::parse(line_of(*AccessFormat::compile("json"), r, size));
    EXPECT_EQ(json["truncated"], true);
    EXPECT_TRUE(json.contains("ts"));
  }
}

TEST(AccessLog, IsOneLineForAnyBytes) {
  base::Rng rng(7);
  for (int i = 0; i < 3000; ++i) {
    std::string input(rng.below(600), '\0');
    for (char& c : input) {
      c = static_cast<char>(rng.below(4) == 0 ? "\n\r\"\\\xe2\x80\xa8?&=%"[rng.below(11)]
                                              : static_cast<int>(rng.below(256)));
    }
    check_access_property(input);  // aborts when it does not hold
  }
}

}  // namespace
}  // namespace steelyard::http::testing
