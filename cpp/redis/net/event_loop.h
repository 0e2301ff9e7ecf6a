#pragma once

#include <functional>
#include <memory>
#include <string>

#include "redis/base/clock.h"
#include "redis/net/pollable.h"

namespace holdfast::net {

// A thread that drives Pollables (epoll; timers by a timerfd on CLOCK_BOOTTIME, so that they fire
// at once when the machine wakes from suspend; they are due within a millisecond of their moment).
// The thread and its descriptors are made in one step, by start() or the first call. It blocks all
// signals (they are for Python's threads), and is named for debuggers; with its end its descriptors
// are closed. All methods may be called from
// any thread, from within a step() too, with whatever locks held: none of them calls a Pollable. A
// step that is not needed may happen; one that is needed always does. All Pollables that are ready
// take one step each before any takes the next.
//
// After fork() the child may destroy its copy, which does nothing, and call nothing else.
class EventLoop final : public Loop {
 public:
  // `clock` must outlive the loop.
  EventLoop(const Clock& clock, std::string name);
  ~EventLoop() override;  // stop()
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Starts the thread, if it does not run; true: it did not. Throws LimitReached where the system
  // gives no more descriptors or threads; then nothing is left of it, and it may be called again.
  bool start();

  // A loop whose thread cannot be started here keeps the pollable for the next call, which tries it
  // again: who depends on a step calls start() before.
  //
  // A pollable's fd may change between two steps, also to a new one with the number of the old. Two
  // pollables may not wait for one fd at the same time. A step that asks for the same as before
  // costs no system call, where the fd is a Descriptor's.
  void drive(std::shared_ptr<Pollable> pollable) override;
  void drive_at(std::shared_ptr<Pollable> pollable, TimePoint at) override;
  void step_last(std::shared_ptr<Pollable> pollable) override;

  // Runs `task` once on the loop's thread; tasks in order. Those not yet begun when the loop is
  // stopped are dropped.
  void post(std::function<void()> task);

  // Whether the thread stays while it drives nothing, as it does at first. If not, it ends then,
  // and the next call starts another one. After stay(true) only start() does; what is driven before
  // waits for that, and is let go of by stay(false).
  void stay(bool on);

  // Waits until the thread has ended, where it is about to: until `until` at most. Not from the
  // loop's own thread.
  void await_end(TimePoint until);

  // Ends the thread and lets go of all Pollables (on the loop's thread); later calls do nothing.
  // From the loop's own thread it only requests the end.
  void stop();

  bool on_loop_thread() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;  // with its thread, which may outlive this for a moment
};

}  // namespace holdfast::net
