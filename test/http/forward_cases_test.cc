// Troubles that others reported, by their ids: what is passed on and what is not.

#include <gtest/gtest.h>

#include "test/http/cases_rig.h"

namespace steelyard::http::testing {
namespace {

std::string forwarded(std::string_view fields, const RequestEdits& edits) {
  struct Writer : Recorder {
    void on_head(StreamId id, const Head& head) noexcept override {
      Recorder::on_head(id, head);
      written.resize(request_bound(head, *edits));
      written.resize(write_request(head, *edits, written.data()));
    }
    const RequestEdits* edits = nullptr;
    std::string written;
  } seen;
  seen.edits = &edits;
  auto codec = make_http1_server(make_http1_pool(), seen);
  codec->receive(base::Buf::heap_copy(request(fields, "GET")));
  return seen.written;
}

TEST(Cases, HDR_01_TakesOutWhatConnectionNames) {
  const std::string fields =
      "Connection: X-Secret, , keep-Alive\r\nConnection: x-OTHER,\r\nX-Secret: 1\r\n"
      "x-other: 2\r\nKeep-Alive: timeout=5\r\nProxy-Connection: x\r\nTE: gzip\r\nX-Stays: 3\r\n";
  const std::string head = forwarded(fields, {});
  const Asked a("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + fields + "\r\n");
  for (const std::string& text : {head, a.answer().head}) {
    for (const std::string_view name :
         {"X-Secret", "x-other", "Keep-Alive", "Proxy-Connection", "TE:", "Connection"})
      EXPECT_EQ(text.find(name), std::string::npos) << name;
    EXPECT_NE(text.find("X-Stays: 3"), std::string::npos);
  }
}

struct ForwardedRow {
  std::string_view name, fields, line;
  bool trusted;
};

void expect_one_line(std::initializer_list<ForwardedRow> rows) {
  for (const ForwardedRow& row : rows) {
    SCOPED_TRACE(row.name);
    RequestEdits edits;
    edits.peer_ip = "192.0.2.7";
    edits.trust_forwarded = row.trusted;
    const std::string head = forwarded(row.fields, edits);
    const std::size_t at = head.find("X-Forwarded-For: ");
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(head.substr(at + 17, head.find('\r', at) - at - 17), row.line);
    EXPECT_EQ(head.find("X-Forwarded-For", at + 1), std::string::npos);
  }
}

TEST(Cases, HDR_03_AClaimOfAClientNeverStandsBesideOurs) {
  expect_one_line(
      {{"untrusted", "X-Forwarded-For: 10.0.0.5\r\n", "192.0.2.7", false},
       {"trusted", "X-Forwarded-For: a\r\nX-Forwarded-For: b, c\r\n", "a, b, c, 192.0.2.7", true}});
  const std::string claims =
      "X-Real-IP: 6.6.6.6\r\nX-Forwarded-Port: 1\r\nForwarded: for=6.6.6.6\r\n"
      "X-Forwarded-Proto: https\r\nX-Forwarded-Host: evil\r\n";
  const std::string untrusted = forwarded(claims, {});
  for (const std::string_view name :
       {"X-Real-IP", "X-Forwarded-Port", "Forwarded: ", "https", "evil"})
    EXPECT_EQ(untrusted.find(name), std::string::npos) << name;
  RequestEdits edits;
  edits.trust_forwarded = true;
  const std::string trusted = forwarded(claims, edits);
  for (const std::string_view name :
       {"X-Real-IP", "X-Forwarded-Port", "Forwarded: ", "https", "evil"})
    EXPECT_NE(trusted.find(name), std::string::npos) << name;
  // Via is no claim of an address: ours stands behind those that came.
  const std::string via = forwarded("Via: 1.1 edge\r\n", {});
  EXPECT_NE(via.find("Via: 1.1 edge\r\n"), std::string::npos);
  EXPECT_LT(via.find("Via: 1.1 edge"), via.find("Via: 1.1 steelyard"));
}

TEST(Cases, HDR_04_EveryFormOfAnAddressStaysInTheList) {
  expect_one_line(
      {{"what RFC 7239 knows",
        "X-Forwarded-For: 2001:db8::1, [2001:db8::1]:443, unknown, _hidden, fe80::1%eth0, "
        "::ffff:192.0.2.1, 192.168.0.1:80, \"[2001:db8::1]:80\"\r\n",
        "2001:db8::1, [2001:db8::1]:443, unknown, _hidden, fe80::1%eth0, ::ffff:192.0.2.1, "
        "192.168.0.1:80, \"[2001:db8::1]:80\", 192.0.2.7",
        true}});
}

TEST(Cases, HDR_07_NoMalformedListIsSentOn) {
  expect_one_line(
      {{"commas", "X-Forwarded-For: ,,\r\n", "192.0.2.7", true},
       {"blank", "X-Forwarded-For:  \r\n", "192.0.2.7", true},
       {"two words", "X-Forwarded-For: 1.1.1.1, a b, 2.2.2.2\r\n", "2.2.2.2, 192.0.2.7", true},
       {"bad last", "X-Forwarded-For: 1.1.1.1, \x80\r\n", "192.0.2.7", true},
       {"bad line between", "X-Forwarded-For: a\r\nX-Forwarded-For: ;\r\nX-Forwarded-For: c\r\n",
        "c, 192.0.2.7", true},
       {"commas, untrusted", "X-Forwarded-For: ,,\r\n", "192.0.2.7", false},
       {"no letters, untrusted", "X-Forwarded-For: \x80\r\n", "192.0.2.7", false}});
  std::string list = "1.1.1.1";
  while (list.size() < 64 << 10) list += ", 1.1.1.1";
  expect_refused("GET / HTTP/1.1\r\nHost: t\r\nX-Forwarded-For: " + list + "\r\n\r\n", 431);
}

}  // namespace
}  // namespace steelyard::http::testing
