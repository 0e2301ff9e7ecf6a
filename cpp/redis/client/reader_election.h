#pragma once

#include <list>
#include <string>
#include <utility>

#include "redis/base/clock.h"
#include "redis/base/mutex.h"
#include "redis/base/sync_points.h"

namespace holdfast::client {

// How long a thread stays in Connection::serve(), where it waits for a reply, or in
// Subscriber::wait_for_message(), where it waits for a message. Any thread may change it, and then
// notify() the Parker of that thread.
struct ServeControl {
  SharedAtomic<bool> done{false};
  SharedAtomic<bool> listens{false};  // for a message, not a reply
  SharedAtomic<BootTime::rep> until{kNever.time_since_epoch().count()};
  bool sends = false;  // it has a command to send, and awaits nothing; of that thread only

  void set_until(TimePoint at) { until.store(at.time_since_epoch().count()); }
  bool ready() const { return sends || done.load(std::memory_order_acquire); }
  bool over(TimePoint now) const { return ready() || now >= end(); }
  bool serves(TimePoint now) const { return !over(now) && !listens.load(); }
  bool awaits_message(TimePoint now) const { return !over(now) && listens.load(); }
  TimePoint end() const { return TimePoint(Duration(until.load())); }
};

// Decides which thread reads a stream for all threads that wait for it. A machine: it does no I/O
// and reads no clock; each event returns the action that its owner, a Connection or a Subscriber,
// performs. It is called with the owner's lock held.
//
// clang-format off
//   reader        event                                 next reader   action
//   kNone         enter(), something to read            kThread       the thread reads
//   kNone         enter(), nothing to read              kNone         the thread parks
//   kThread       enter()                               kThread       the thread parks
//   kLoop         enter(), threads replace the loop     kThread       it reads; drive the loop
//   kLoop         enter(), they do not                  kLoop         the thread parks
//   kEventLoop    enter()                               kEventLoop    the thread parks
//   kThread       leave()                               kNone         drive the loop later
//   kNone         submit(), a caller awaits the reply   kNone         wake one that parks, or drive
//   kNone         leave_unread(): no caller awaits it   kNone         drive the loop later
//   kNone         expect(): a message must be read      kNone, kLoop  as for submit()
//   kNone         tick(), unread too long, one parks    kNone         wake it
//   kNone         tick(), unread too long, none parks   kLoop, kNone  the loop reads if wanted
//   kNone         change_stream()                       kLoop, kNone  the loop reads if wanted
//   kThread       change_stream()                       kThread       wake the reader
//   any           loop_reads(): a waiter has no thread  kLoop         wake the reader; drive
//   any           begin_step(), of the engine's loop    kLoop
//   kLoop         leave()                               kNone
//   kNone, kLoop  let_event_loop_read()                 kEventLoop
//   kEventLoop    reclaim()                             kLoop         drive the loop
//   any           interrupt(): an order for the reader  same          wake it, or drive it
// clang-format on
class ReaderElection {
 public:
  enum class Reader {
    kNone,
    kThread,     // one that waits; another thread is woken by its Parker
    kLoop,       // the engine's
    kEventLoop,  // the application's, by a right from the engine's loop
  };

  // The steps that the owner is to take, in this order.
  struct Action {
    Parker* wake = nullptr;
    bool drive = false;           // the engine's loop, now
    TimePoint drive_at = kNever;  // the loop, not before that
  };

  // A thread that parks until the reader has what it waits for, or it is called to read.
  struct Place {
    Parker* parker;
    const ServeControl* control;
    const std::string* channel = nullptr;  // a Subscriber's
    SharedAtomic<bool> linked{false};  // false again: it may leave, and is not looked at any more
    std::list<Place*>::iterator at{};
  };

  // For how long replies and messages that no thread awaits may stay unread.
  static constexpr Millis kUnread{5};

  // `reader`: at first. Where it is the loop, a thread that enters replaces it.
  explicit ReaderElection(Reader reader = Reader::kNone)
      : reader_(reader), replaces_loop_(reader == Reader::kLoop) {}

  Reader reader() const { return reader_; }
  bool is_reader(const Parker& parker) const { return reading_ == &parker; }
  bool has_parked() const { return !parked_.empty(); }
  // A thread was woken to read, and has not come yet.
  bool has_called() const { return called_ != nullptr; }
  bool vacant() const { return reader_ == Reader::kNone && called_ == nullptr; }

  // A thread comes to wait. `something`: it would read something. Whether it reads; else it is
  // linked, and parks.
  struct Entry {
    bool reads = false;
    Action action{};
  };
  Entry enter(Place& thread, bool something);
  // A thread uses the vacant stream for one command.
  void enter_directly(Parker& thread) {
    reader_ = Reader::kThread;
    reading_ = &thread;
  }
  // Takes a thread out of those that park: it is awake, or its wait is over.
  void unlink(Place& thread);
  // A request comes. Where threads meet, a reader that gathers their commands sends less often than
  // each thread by itself: the next ones that a thread would send by itself are refused.
  void meet() {
    if (reader_ != Reader::kNone) contended_ = kContended;
  }
  bool contended() { return contended_ > 0 && contended_-- > 0; }
  // The reading thread, or the loop, stops. What comes may stay unread until then.
  void leave() {
    reader_ = Reader::kNone;
    reading_ = nullptr;
  }
  Action leave(TimePoint unread_until);

  // Replies were passed on: threads whose wait is over are unlinked, and need no lock to leave.
  void reply();

  // A vacant stream has a reply to come that is awaited. `preferred`: the thread that will wait for
  // it; it is woken if it parks, and else comes by itself. Without one the first thread is woken.
  Action submit(Parker* preferred);
  // A reply that no caller awaits: the next thread that comes reads it, or the loop, later.
  Action leave_unread(TimePoint now);
  // Messages are about to come that must not stay unread.
  Action expect(TimePoint now);
  // A thread that parks, and `fits`, reads next.
  template <typename Fits>
  Action call(const Fits& fits) {
    for (Place* each : parked_) {
      if (fits(*each)) return wake(*each->parker);
    }
    return {};
  }

  // The end of what stays unread, kNever: of nothing. tick() when it has come, where the loop reads
  // only what is `wanted`.
  TimePoint unread_until() const { return unread_until_; }
  void set_unread_until(TimePoint at) { unread_until_ = at; }
  bool unread_too_long(TimePoint now) const {
    return reader_ == Reader::kNone && now >= unread_until_;
  }
  Action tick(TimePoint now, bool wanted);

  // The stream was opened, or it ended.
  Action change_stream();

  // The engine's loop reads from now on, in place of any thread; in a step.
  Action loop_reads();
  void begin_step() {
    reader_ = Reader::kLoop;
    driven_ = false;
  }
  // Whether the loop is to be asked for a step: it has begun the one that it was asked for last.
  // From now on it counts as asked.
  bool ask_for_step() { return !std::exchange(driven_, true); }

  void let_event_loop_read() { reader_ = Reader::kEventLoop; }
  Action reclaim();

  // Wakes the reader, so that it sees what has changed.
  Action interrupt() const;

 private:
  static constexpr int kContended = 64;

  Action wake(Parker& parker) {
    called_ = &parker;
    return {called_};
  }

  Reader reader_;
  const bool replaces_loop_;
  bool driven_ = false;
  Parker* reading_ = nullptr;  // the thread of kThread
  Parker* called_ = nullptr;   // the thread that was woken to read, until it is awake
  int contended_ = 0;          // requests that contended() is true for
  std::list<Place*> parked_;
  TimePoint unread_until_ = kNever;
};

}  // namespace holdfast::client
