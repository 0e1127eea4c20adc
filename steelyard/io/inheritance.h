// Listening sockets on a Channel: how one process gives another all that it has.
#pragma once

#include "steelyard/base/time.h"
#include "steelyard/io/channel.h"
#include "steelyard/io/listener_set.h"

namespace steelyard::io {

// kSocket messages with duplicates of every socket, as many in one as it takes. False: the peer is
// gone, or its queue stayed full for `wait`; what was sent by then is there.
[[nodiscard]] bool send_sockets(Channel& to, const ListenerSet& sockets, base::Duration wait = {});
// The sockets of one such message; false: it is none.
[[nodiscard]] bool take_sockets(Message& message, ListenerSet& into);

}  // namespace steelyard::io
