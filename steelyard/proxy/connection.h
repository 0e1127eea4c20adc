// Connection: what connections of clients and of nodes have in common: a stream, and a codec whose
// output, credit and memory are the stream's and the reactor's.
//
// One thread; owned by the worker's Core, which reuses the objects.
#pragma once

#include <memory>

#include "steelyard/base/prefetch.h"
#include "steelyard/http/codec.h"
#include "steelyard/io/reactor.h"
#include "steelyard/proxy/deferred.h"

namespace steelyard::proxy {

class Core;

class Connection : protected io::StreamEvents, protected http::CodecEvents, public Deferred {
 public:
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  // Written and not yet taken by the kernel.
  [[nodiscard]] std::size_t unsent() const noexcept {
    return stream_ != nullptr ? stream_->unsent() : 0;
  }

 protected:
  explicit Connection(Core& core) noexcept : core_(core) {}
  ~Connection() = default;

  void on_output(base::Buf bytes) noexcept override { stream_->write(std::move(bytes)); }
  void on_output_end() noexcept final { stream_->end_write(); }
  void on_credit(std::size_t bytes) noexcept override { stream_->grant(bytes); }
  void on_pending() noexcept final;
  http::Room room(std::size_t bytes) noexcept final;
  // May more be handed over for this stream?
  [[nodiscard]] bool has_room(const http::Codec& codec, http::StreamId stream) const noexcept;
  void resume(http::Codec& codec) noexcept;  // what on_pending asked for, from a clean stack
  // What each exchange touches behind the pointers of a connection.
  void prefetch_parts(const http::Codec* codec) const noexcept {
    base::prefetch<256>(codec);
    base::prefetch<192>(stream_.get());
  }

  Core& core_;
  std::unique_ptr<io::Stream> stream_;
  bool pending_ = false;  // the codec wants resume()
  bool ended_ = false;    // the peer has sent its FIN
};

}  // namespace steelyard::proxy
