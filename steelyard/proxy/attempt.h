// Attempt: the link between an exchange and a stream of a node's connection. Lives inside its
// Exchange.
#pragma once

#include <cstdint>

#include "steelyard/http/codec.h"
#include "steelyard/proxy/window.h"

namespace steelyard::proxy {

class Exchange;
class NodeConnection;

struct Attempt {
  Exchange* exchange = nullptr;
  NodeConnection* connection = nullptr;           // nothing: not running
  Attempt* next = nullptr;                        // of the same connection
  http::StreamId stream = http::StreamId::kNone;  // none: still connecting
  std::uint8_t index = 0;                         // among the attempts of its exchange
  bool reused = false;                            // on a connection that had served before
  Window window;                                  // of the answer

  [[nodiscard]] bool ready() const noexcept { return stream != http::StreamId::kNone; }
};

}  // namespace steelyard::proxy
