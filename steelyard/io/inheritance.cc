#include "steelyard/io/inheritance.h"

#include <utility>

namespace steelyard::io {

bool send_sockets(Channel& to, const ListenerSet& sockets, base::Duration wait) {
  Message next;
  bool sent = true;
  const auto flush = [&] {
    if (!next.fds.empty()) sent = sent && to.send(next, wait);
    next.fds.clear();
  };
  sockets.each([&](const base::Address& address, unsigned worker, const Fd& fd) {
    const std::string name = address.to_text();
    if (name != next.text || worker != next.number + next.fds.size() ||
        next.fds.size() == Channel::kMostFds) {
      flush();
      next = {Verb::kSocket, worker, name};
    }
    next.fds.push_back(duplicate(fd));
  });
  flush();
  return sent;
}

bool take_sockets(Message& message, ListenerSet& into) {
  const auto address = base::Address::parse(message.text, /*any=*/true);
  if (message.verb != Verb::kSocket || !address || message.fds.empty()) return false;
  unsigned worker = message.number;
  for (auto& fd : message.fds) into.put(*address, worker++, std::move(fd));
  return true;
}

}  // namespace steelyard::io
