// One message through a codec, whole, for tests of single cases.
#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "test/http/recorder.h"

namespace steelyard::http::testing {

struct Served {
  explicit Served(std::string_view wire, Http1Limits limits = {}) {
    codec = make_http1_server(make_http1_pool(limits), seen);
    seen.when_end = [this](StreamId id) { send_answer(*codec, id, 200, "ok"); };
    codec->start();
    codec->receive(base::Buf::heap_copy(wire));
  }
  [[nodiscard]] int status() const {
    return seen.output.empty() ? 0 : std::stoi(seen.output.substr(9, 3));
  }
  Recorder seen;
  std::unique_ptr<ServerCodec> codec;
};

struct Asked {
  explicit Asked(std::string_view wire, Method method = Method::kGet) {
    codec = make_http1_client(make_http1_pool(), seen);
    codec->start();
    const StreamId id = codec->open();
    codec->send_head(
        id, OutHead{base::Buf::of_static("GET / HTTP/1.1\r\n\r\n"), method, 0, Body::kNone, 0});
    codec->send_end(id);
    codec->receive(base::Buf::heap_copy(wire));
  }
  [[nodiscard]] const Message& answer() const { return seen.messages.at(0); }
  Recorder seen;
  std::unique_ptr<ClientCodec> codec;
};

inline std::string request(std::string_view fields, std::string_view method = "POST") {
  return std::string(method) + " / HTTP/1.1\r\nHost: t\r\n" + std::string(fields) + "\r\n";
}

inline void expect_refused(std::string_view wire, int status) {
  SCOPED_TRACE(wire);
  const Served s(wire);
  EXPECT_EQ(s.status(), status);
  EXPECT_TRUE(s.seen.closed);
  EXPECT_TRUE(s.seen.messages.empty()) << "nothing is forwarded";
}

}  // namespace steelyard::http::testing
