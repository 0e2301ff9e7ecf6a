#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "redis/base/mutex.h"
#include "redis/base/process.h"
#include "redis/net/transport.h"

namespace holdfast::client {

class Connection;

// An event loop of the application, on a thread of the application, which reads connections of
// Driver::kLoop: it polls fd(), and calls turn() when that is readable. A request
// that its thread submits inside a Scope gives it the right to read that connection. The engine's
// loop reclaims the right when there is more to do than to read replies, when another
// EventLoopReader uses the connection, and when this one does not call turn() although there is
// something to read (see ReadRight).
//
// So an acquire and release of a task takes 10 system calls; through the engine's thread it took 30
// and two changes of the thread each way. The engine notices a loop that computes, stops
// or is closed, and asks it for nothing. The descriptor that the event loop polls is an
// epoll set, as asyncio remembers descriptors by number and would be wrong about a socket that the
// engine's thread has closed.
//
// In a child of fork() it does nothing.
class EventLoopReader final : public std::enable_shared_from_this<EventLoopReader> {
 public:
  EventLoopReader();  // throws LimitReached where the system gives no descriptors
  EventLoopReader(const EventLoopReader&) = delete;
  EventLoopReader& operator=(const EventLoopReader&) = delete;

  // Readable when a connection has something to read, or a descriptor that was given to watch(). -1
  // in a child of fork().
  int fd() const { return epoll_.get(); }
  void watch(int fd);

  // The loop's thread: reads the replies that have come, and completes their requests.
  void turn();
  bool turning() const { return turning_; }

  // Any thread, when the loop has ended: the engine's loop reads. To be called before destruction.
  void give_up();

  // On the loop's thread: what is submitted meanwhile comes from the loop. kAtTheEnd: what goes to
  // connections that the loop reads is sent in one piece when the scope ends.
  enum class Sends { kAtOnce, kAtTheEnd };
  class Scope {
   public:
    Scope(EventLoopReader& loop, Sends sends)
        : loop_(loop),
          outer_(std::exchange(of_scope_, &loop)),
          gathered_(std::exchange(loop.gathers_, sends == Sends::kAtTheEnd || loop.gathers_)) {}
    ~Scope() {
      if (!gathered_ && loop_.gathers_) loop_.send();
      loop_.gathers_ = gathered_;
      of_scope_ = outer_;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

    // Sends what this scope has gathered. From now on it is as one of `next`.
    void send(Sends next) {
      if (gathered_) return;
      loop_.send();
      loop_.gathers_ = next == Sends::kAtTheEnd;
    }

   private:
    EventLoopReader& loop_;
    EventLoopReader* const outer_;
    const bool gathered_;
  };

  // Whose Scope the calling thread is in; null: none.
  static EventLoopReader* of_this_thread() {
    EventLoopReader* const loop = of_scope_;
    return loop == nullptr || loop->in_child() ? nullptr : loop;
  }
  // Whether a request is to be sent with others, at the end of that scope or, if the connection
  // awaits replies, after the next of them. If so, the end of a scope sees to it.
  bool gathers(bool awaits) {
    const bool gathers = awaits || gathers_;
    has_gathered_ = has_gathered_ || gathers;
    return gathers;
  }

 private:
  friend class ReadRight;

  struct Entry {
    std::shared_ptr<Connection> connection;
    std::shared_ptr<net::Transport> stream;  // does not close while it is watched
  };

  // By a ReadRight, with its connection's lock held. take() returns false where the system
  // refuses to watch.
  bool take(std::shared_ptr<Connection> connection, std::shared_ptr<net::Transport> stream);
  void drop(const Connection& connection);

  template <typename Visit>
  void for_each(const Visit& visit);
  void send();
  bool in_child() const { return epoch_ != fork_epoch(); }

  static inline thread_local EventLoopReader* of_scope_ = nullptr;

  const Descriptor epoll_;
  const std::uint64_t epoch_;
  Mutex mutex_;  // taken after a connection's
  std::vector<Entry> entries_ HOLDFAST_GUARDED_BY(mutex_);

  // The loop's thread only.
  std::vector<std::shared_ptr<Connection>> visited_;
  bool turning_ = false;
  bool gathers_ = false;
  bool has_gathered_ = false;  // since send()
};

}  // namespace holdfast::client
