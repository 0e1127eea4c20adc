// The channel between supervisor and engine, and the memory that they share.
#include "steelyard/io/channel.h"

#include <array>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "steelyard/io/inheritance.h"
#include "steelyard/io/lease_lock.h"
#include "steelyard/io/listener_set.h"
#include "steelyard/io/provider.h"
#include "steelyard/io/shared_memory.h"
#include "steelyard/io/socket.h"

namespace steelyard::io {
namespace {

using namespace std::chrono_literals;

TEST(Channel, CarriesWholeMessagesWithDescriptorsInOrder) {
  auto ends = std::move(*Channel::pair());
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const Fd reading(pipe[0]);
  Message with{Verb::kSocket, 7, "text"};
  with.fds.emplace_back(pipe[1]);
  EXPECT_FALSE(ends.second.receive().has_value()) << "nothing there, and no waiting";
  ASSERT_TRUE(ends.first.send(with));
  ASSERT_TRUE(ends.first.send({Verb::kReady}));
  const auto first = ends.second.receive(1s);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->verb, Verb::kSocket);
  EXPECT_EQ(first->number, 7U);
  EXPECT_EQ(first->text, "text");
  ASSERT_EQ(first->fds.size(), 1U);
  EXPECT_NE(::fcntl(first->fds[0].get(), F_GETFD) & FD_CLOEXEC, 0) << "no child gets it";
  ASSERT_EQ(::write(first->fds[0].get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read(reading.get(), &byte, 1), 1);
  const auto second = ends.second.receive(1s);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->verb, Verb::kReady);
  EXPECT_TRUE(ends.second.open());
  ends.first.close();
  EXPECT_FALSE(ends.second.receive(1s).has_value());
  EXPECT_FALSE(ends.second.open());
  EXPECT_FALSE(ends.second.send({Verb::kReady})) << "and no SIGPIPE";
}

TEST(Channel, WhatAPeerSaidLastComesAlsoWhenItEndedWithMessagesUnread) {
  auto ends = std::move(*Channel::pair());
  ASSERT_TRUE(ends.first.send({Verb::kStatus}));
  ASSERT_TRUE(ends.second.send({Verb::kNotStarted, 0, "why"}));
  ends.second.close();
  const auto last = ends.first.receive(1s);
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->text, "why");
  EXPECT_FALSE(ends.first.receive(1s).has_value());
  EXPECT_FALSE(ends.first.open());
}

TEST(Channel, WhoDoesNotReadBlocksNobody) {
  auto ends = std::move(*Channel::pair());
  int sent = 0;
  while (ends.first.send({Verb::kStatus, 0, std::string(1000, 'x')}) && sent < 100'000) ++sent;
  EXPECT_GT(sent, 10);
  EXPECT_LT(sent, 100'000);
  EXPECT_FALSE(ends.first.send({Verb::kStatus}, 10ms));
  ASSERT_TRUE(ends.second.receive().has_value());
  EXPECT_TRUE(ends.first.send({Verb::kStatus}, 10ms));
}

TEST(Channel, AStrangersBytesCloseIt) {
  for (const std::string_view bytes : {"", "x", "not a message of ours"}) {
    auto ends = std::move(*Channel::pair());
    ASSERT_EQ(::send(ends.first.fd().get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    EXPECT_FALSE(ends.second.receive(1s).has_value()) << bytes;
    EXPECT_FALSE(ends.second.open()) << bytes;
  }
}

TEST(Channel, AnEngineIsFoundByItsNameAndOnlyOnce) {
  const std::string name = "test-" + std::to_string(::getpid());
  EXPECT_FALSE(call_engine(name).first.open());
  const auto door = wait_for_supervisor(name);
  ASSERT_TRUE(door) << door.error().describe();
  EXPECT_FALSE(wait_for_supervisor(name)) << "one at a time";
  auto [channel, pid] = call_engine(name);
  ASSERT_TRUE(channel.open());
  EXPECT_EQ(pid, ::getpid());
  ASSERT_TRUE(channel.send({Verb::kAdopt}));
  Channel other(accept_supervisor(*door));
  const auto asked = other.receive(1s);
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(asked->verb, Verb::kAdopt);
  EXPECT_FALSE(wait_for_supervisor(std::string(200, 'n'))) << "no name is cut";
}

TEST(Channel, AddressesSurviveAsLines) {
  const std::array addresses{*base::Address::parse("0.0.0.0:80", true),
                             *base::Address::parse("[2001:db8::1]:8443", true)};
  const auto back = addresses_of(to_lines(addresses));
  EXPECT_EQ(back, (std::vector<base::Address>{addresses[0], addresses[1]}));
  EXPECT_TRUE(addresses_of("").empty());
}

TEST(ListenerSet, TheSocketOfTheApiIsItsOwnAndNotShared) {
  ListenerSet set;
  const auto any = base::Address::loopback(0);
  const auto traffic = local_address(*set.get(any, 0)).value();
  const auto admin = local_address(*set.get(any, ListenerSet::kAdmin)).value();
  EXPECT_NE(traffic, admin) << "the same address in the configuration: port 0";
  EXPECT_EQ(local_address(*set.get(any, ListenerSet::kAdmin)).value(), admin);
  EXPECT_EQ(set.size(), 2U);
  EXPECT_TRUE(set.has(any, 0));
  EXPECT_FALSE(set.has(any, 1));
  ListenerSet other;
  set.each([&](const base::Address& address, unsigned worker, const Fd& fd) {
    other.put(address, worker, duplicate(fd));
  });
  EXPECT_EQ(local_address(*other.get(any, 1)).value(), traffic) << "what was handed over counts";
  set.keep_only({});
  EXPECT_EQ(set.size(), 0U);
}

TEST(StateMemory, GivesTheLastWholeText) {
  const auto memory = StateMemory::create();
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->read(), "");
  const auto other = StateMemory::attach(duplicate(memory->fd()));
  ASSERT_TRUE(other);
  auto& writer = const_cast<StateMemory&>(*memory);
  for (const std::string text : {"one", "two", "", "a longer one"}) {
    ASSERT_TRUE(writer.write(text));
    EXPECT_EQ(other->read(), text);
  }
  EXPECT_FALSE(writer.write(std::string(StateMemory::kMost + 1, 'x')));
  EXPECT_EQ(other->read(), "a longer one");
}

// A writer that dies at any point leaves the text before: every byte of the half in use is damaged
// in turn.
TEST(StateMemory, ATornWriteIsNeverRead) {
  auto memory = std::move(*StateMemory::create());
  ASSERT_TRUE(memory.write("the first text"));
  ASSERT_TRUE(memory.write("the second text"));
  struct stat info{};
  ASSERT_EQ(::fstat(memory.fd().get(), &info), 0);
  const off_t half = info.st_size / 2;
  std::size_t fell_back = 0;
  for (off_t at = half; at < half + 96; ++at) {  // what stands before both is smaller
    char byte = 0;
    ASSERT_EQ(::pread(memory.fd().get(), &byte, 1, at), 1);
    const char damaged = static_cast<char>(byte ^ 0x40);
    ASSERT_EQ(::pwrite(memory.fd().get(), &damaged, 1, at), 1);
    const std::string read = memory.read();
    EXPECT_TRUE(read == "the first text" || read == "the second text") << at << read;
    if (read == "the first text") ++fell_back;
    ASSERT_EQ(::pwrite(memory.fd().get(), &byte, 1, at), 1);
  }
  EXPECT_GE(fell_back, 30U);
  EXPECT_EQ(memory.read(), "the second text");
}

TEST(StateMemory, CannotBeCutUnderAReader) {
  const auto memory = StateMemory::create();
  ASSERT_TRUE(memory);
  EXPECT_NE(::ftruncate(memory->fd().get(), 10), 0);
  const Fd unsealed(::memfd_create("plain", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(unsealed.get(), off_t{1} << 30), 0);
  EXPECT_FALSE(StateMemory::attach(duplicate(unsealed)));
}

TEST(PulseWatch, FindsTheLoopThatStandsStill) {
  const auto heartbeat = std::move(*Heartbeat::create());
  PulseWatch watch;
  base::TimePoint now{1h};
  const auto look = [&](base::Duration later) {
    now += later;
    return watch.stalled(heartbeat, now, 5s);
  };
  const auto beat = [&](unsigned loop) { heartbeat.pulse(loop).beat(); };
  EXPECT_EQ(look(1s), 0) << "no loop yet";
  heartbeat.pulse(0).thread.set(100);
  heartbeat.pulse(3).thread.set(103);
  for (int i = 0; i < 20; ++i) {
    beat(0);
    beat(3);
    EXPECT_EQ(look(1s), 0) << i;
  }
  for (int i = 0; i < 4; ++i) {
    beat(0);
    EXPECT_EQ(look(1s), 0) << i;
  }
  beat(0);
  EXPECT_EQ(look(1s), 103);
  EXPECT_EQ(look(1h), 0) << "we were stopped ourselves: who knows";
  for (int i = 0; i < 4; ++i) EXPECT_EQ(look(1s), 0) << i;
  heartbeat.pulse(0).thread.set(0);
  heartbeat.pulse(3).thread.set(0);
  EXPECT_EQ(look(2s), 0) << "loops that have ended";
}

TEST(ProcessStatus, SurvivesAsText) {
  ProcessStatus status{.supervisor = 1234, .started = 5, .generation = 7, .crashes = 3};
  status.last_crash = 1'700'000'000;
  status.crashed_pid = 77;
  status.crashed_how = "was killed\tby signal 6 (Aborted):\na loop";
  status.recent_crashes = {1, 2, 1'700'000'000};
  status.crash_limit = 5;
  status.crash_window = 60;
  status.upgrades = 2;
  status.failed_upgrades = 1;
  status.upgrading = true;
  status.upgrade_failed = 9;
  status.upgrade_failure = "no such program";
  status.draining = {{.pid = 5, .generation = 3, .since = 8, .holding = std::nullopt},
                     {.pid = 6, .generation = 4, .since = 9, .holding = Holding{3, 2, 1}}};
  const auto back = ProcessStatus::parse(status.to_text());
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->to_text(), status.to_text());
  EXPECT_EQ(back->to_text().find('\n'), std::string::npos) << "one line";
  EXPECT_EQ(back->last_crash, 1'700'000'000);
  EXPECT_EQ(back->crashed_how, "was killed by signal 6 (Aborted): a loop");
  EXPECT_EQ(back->recent_crashes, status.recent_crashes);
  EXPECT_EQ(back->draining, status.draining);
  EXPECT_TRUE(back->upgrading);
  for (const std::string_view bad :
       {"1", "supervisor", "supervisor x\t", "supervisor 1 2\t", "upgrading 2\t", "crash \t",
        "draining 1 2\t", "draining 1 2 3 4\t", "unknown 1\t"}) {
    EXPECT_FALSE(ProcessStatus::parse(bad).has_value()) << bad;
  }
}

// Without room for what came the channel ends, and tells why: the peer is not gone.
TEST(Channel, TellsThatThereWasNoRoomForDescriptors) {
  auto ends = std::move(*Channel::pair());
  Message message{Verb::kMemory};
  message.fds.push_back(duplicate(ends.first.fd()));
  ASSERT_TRUE(ends.first.send(message));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto received = ends.second.receive();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(received);
  EXPECT_FALSE(ends.second.open());
  EXPECT_TRUE(ends.second.short_of_descriptors());
}

TEST(LeaseLock, IsHeldByOneAndEndsWithIt) {
  const auto memory = std::move(*StateMemory::create());
  auto first = std::move(*LeaseLock::on(memory.fd()));
  auto second = std::move(*LeaseLock::on(duplicate(memory.fd())));
  EXPECT_TRUE(first.take());
  EXPECT_TRUE(first.take()) << "it is ours already";
  EXPECT_FALSE(second.take());
  first.release();
  EXPECT_TRUE(second.take());
  EXPECT_FALSE(first.take());
  second = LeaseLock();
  EXPECT_TRUE(first.take());
  EXPECT_FALSE(LeaseLock().take()) << "of nothing";
}

TEST(Inheritance, CarriesEverySocketOfASet) {
  ListenerSet from;
  const auto address = base::Address::loopback(0);
  for (unsigned worker = 0; worker < 70; ++worker) ASSERT_TRUE(from.get(address, worker));
  auto ends = std::move(*Channel::pair());
  ASSERT_TRUE(send_sockets(ends.first, from));
  ends.first.close();  // what was sent is there all the same
  ListenerSet to;
  int messages = 0;
  while (auto message = ends.second.receive()) {
    EXPECT_TRUE(take_sockets(*message, to));
    ++messages;
  }
  EXPECT_EQ(messages, 3) << "32 in one";
  EXPECT_EQ(to.size(), from.size());
  from.each([&](const base::Address& at, unsigned worker, const Fd& fd) {
    ASSERT_TRUE(to.has(at, worker)) << worker;
    EXPECT_EQ(local_address(*to.get(at, worker))->port(), local_address(fd)->port());
  });
  Message none{Verb::kStatus};
  EXPECT_FALSE(take_sockets(none, to));
}

}  // namespace
}  // namespace steelyard::io
