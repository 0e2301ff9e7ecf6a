#pragma once

#include <sys/eventfd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "redis/base/clock.h"
#include "redis/base/process.h"
#include "redis/net/pollable.h"
#include "redis/net/transport.h"
#include "support/manual_clock.h"

namespace holdfast::simulation {

// A loop that never steps anything: what a test leaves to it stays undone.
class NoLoop final : public net::Loop {
 public:
  void drive(std::shared_ptr<net::Pollable>) override { ++driven; }
  int driven = 0;  // how often it was to step something
};

// What the far end of a ScriptedStream says, and gets.
struct Script {
  static constexpr std::string_view kEnd = "the stream ends";

  ManualClock clock;
  std::deque<std::string> replies;  // a piece for each reading; an empty one: nothing came
  std::string got;
  int writes = 0;
  std::size_t room = std::string::npos;  // bytes that are taken, then none for now
  bool unasked = false;                  // something has come before a command is sent
  bool stuck = false;                    // it takes no more, ever
  std::function<void()> on_looking;      // before a look whether something has come
  std::function<void()> on_reading;      // before a reading that waits
  std::function<void()> on_writing;      // before the next writing takes any bytes

  // How often a word of the commands was written.
  int count(std::string_view word) const {
    int times = 0;
    for (std::size_t at = got.find(word); at != std::string::npos; at = got.find(word, at + 1)) {
      ++times;
    }
    return times;
  }
};

// A stream of which the test writes the script. Its descriptor is always ready; while nothing
// comes, time passes.
class ScriptedStream final : public net::Transport {
 public:
  explicit ScriptedStream(Script& script) : script_(script) {}

  int fd() const override { return ready_.get(); }
  net::IoResult connect() override { return {}; }
  net::IoResult read(char* into, std::size_t size) override {
    if (script_.replies.empty()) {
      script_.clock.advance(moment());
      return {net::Io::kWantRead, 0, {}};
    }
    const std::string piece = std::move(script_.replies.front());
    script_.replies.pop_front();
    if (piece == Script::kEnd) return {net::Io::kFailed, 0, Status::unreachable("it ended")};
    if (piece.empty()) {
      script_.clock.advance(moment());
      return {net::Io::kWantRead, 0, {}};
    }
    std::memcpy(into, piece.data(), std::min(size, piece.size()));
    return {net::Io::kDone, piece.size(), {}};
  }
  bool has_input() const override {
    if (const auto now = std::exchange(script_.on_looking, nullptr)) now();
    return script_.unasked;
  }
  net::IoResult await(char* into, std::size_t size) override {
    if (const auto now = std::exchange(script_.on_reading, nullptr)) now();
    return read(into, size);
  }
  Millis moment() const override { return Millis(20); }
  net::IoResult write(const char* from, std::size_t size) override {
    if (const auto now = std::exchange(script_.on_writing, nullptr)) now();
    const std::size_t taken = std::min(size, script_.room);
    if (taken == 0) {
      if (!script_.stuck) script_.room = std::string::npos;
      return {net::Io::kWantWrite, 0, {}};
    }
    if (script_.room != std::string::npos) script_.room -= taken;
    script_.got.append(from, taken);
    ++script_.writes;
    return {net::Io::kDone, taken, {}};
  }
  void abort() override {}

 private:
  Script& script_;
  const Descriptor ready_{::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)};
};

}  // namespace holdfast::simulation
