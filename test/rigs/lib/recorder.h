// A back end that notes every byte it gets and answers by a script, on a thread of its own.
//
// Without a script it answers each whole request with 200 and "fine" (HEAD without the body). With
// one, the first request of the script's connection is answered by its bytes.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "test/rigs/lib/http.h"
#include "test/rigs/lib/net.h"

namespace steelyard::rigs {

struct RecorderScript {
  std::vector<std::string> pieces;  // empty: no script
  std::string after;                // open, fin, rst
  bool on_accept = false;           // before any request
  bool when_idle = false;           // after a first, good answer
};

struct Recorded {
  std::vector<std::string> bytes;  // of each connection on which some came since the last take
  struct Request {
    Head head;
    std::string body;
  };
  std::vector<Request> requests;  // whole ones
};

class Recorder {
 public:
  Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();
  [[nodiscard]] std::uint16_t port() const { return port_; }
  void script(RecorderScript script);
  [[nodiscard]] Recorded take();  // and forgets it

 private:
  struct Session {
    std::shared_ptr<Wire> wire;
    MessageReader reader{MessageReader::Kind::kRequest};
    std::string bytes;
    Recorded::Request request;
    bool scripted = false;
  };
  void accept();
  void arrived(std::uint64_t key, std::string_view bytes);
  void whole(Session& session);
  void play(Session& session);
  void call(const std::function<void()>& what);

  Loop loop_;
  int listener_;
  std::uint16_t port_;
  std::uint64_t made_ = 0;
  std::map<std::uint64_t, std::unique_ptr<Session>> sessions_;
  RecorderScript script_;
  bool played_ = true;
  Recorded seen_;
  std::thread thread_;
};

}  // namespace steelyard::rigs
