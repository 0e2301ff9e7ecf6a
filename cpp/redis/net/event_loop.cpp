#include "redis/net/event_loop.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "redis/base/clock.h"
#include "redis/base/mutex.h"
#include "redis/base/process.h"
#include "redis/net/poller.h"

namespace holdfast::net {
namespace {

// The system refuses to watch a pollable's descriptor: it is stepped from time to time.
constexpr Duration kBlindStep = std::chrono::milliseconds(50);

thread_local const void* loop_of_this_thread = nullptr;

}  // namespace

class EventLoop::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(const Clock& clock, std::string name)
      : clock_(clock), name_(std::move(name)), timers_(clock.now()) {}

 private:
  friend class EventLoop;  // which does what other threads ask for

  struct Inbox {
    std::vector<std::shared_ptr<Pollable>> pollables;
    std::vector<std::function<void()>> tasks;
    bool empty() const { return pollables.empty() && tasks.empty(); }
  };

  struct Driven : Timer, Poller::Watch {
    std::shared_ptr<Pollable> pollable;
    bool ready = false;
  };

  template <typename Put>
  void put(Put put_into) {
    std::shared_ptr<Poller> asleep;
    {
      const MutexLock lock(mutex_);
      if (stopping_) return;
      put_into(inbox_);
      begin_if_wanted();
      asleep = sleeper();
    }
    if (asleep) asleep->wake();
  }

  // What is to be woken, without the lock, when something has changed that the thread looks at
  // before it waits: nothing, or the wait that it is in. The thread may end before.
  std::shared_ptr<Poller> sleeper() HOLDFAST_REQUIRES(mutex_) {
    return std::exchange(waiting_, false) ? poller_ : nullptr;
  }

  void begin() HOLDFAST_REQUIRES(mutex_);
  void begin_if_wanted() HOLDFAST_REQUIRES(mutex_);
  void reap() HOLDFAST_REQUIRES(mutex_);
  void run();
  bool leaves();
  void wait();
  void ring_at(TimePoint at, TimePoint now) HOLDFAST_REQUIRES(mutex_);
  bool take_in();
  void mark(Driven& driven);
  void step(Driven& driven);

  const Clock& clock_;
  const std::string name_;
  const pid_t process_ = getpid();

  Mutex mutex_;
  Inbox inbox_ HOLDFAST_GUARDED_BY(mutex_);
  bool waiting_ HOLDFAST_GUARDED_BY(mutex_) =
      false;  // the loop is in a wait that has not been ended, or about to be
  std::atomic<bool> stopping_{false};  // read without it too
  bool stays_ HOLDFAST_GUARDED_BY(mutex_) = true;
  bool awaits_start_ HOLDFAST_GUARDED_BY(mutex_) = false;   // while it does not run
  bool running_ HOLDFAST_GUARDED_BY(mutex_) = false;        // the thread has not left its loop
  TimePoint alarm_ HOLDFAST_GUARDED_BY(mutex_) = kNever;    // what the poller is set to
  Parker* awaiting_ HOLDFAST_GUARDED_BY(mutex_) = nullptr;  // in await_end()
  std::thread thread_;                                      // with the mutex; stable once stopping
  int thread_id_ = 0;  // by the thread; read when it is not running
  Mutex join_mutex_;

  // Made with the thread, and dropped by it at its end.
  std::shared_ptr<Poller> poller_;

  // The loop's thread only.
  TimerWheel timers_;
  std::unordered_map<Pollable*, Driven> driven_;
  std::vector<Driven*> ready_;
  std::vector<Poller::Watch*> watched_;
  Inbox taken_;
};

// The thread waits for the mutex, and then finds what is set here.
void EventLoop::Impl::begin() {
  reap();
  auto poller = std::make_shared<Poller>();
  thread_ = start_thread(name_, [self = shared_from_this()] { self->run(); });
  poller_ = std::move(poller);
  alarm_ = kNever;
  running_ = true;
}

void EventLoop::Impl::begin_if_wanted() {
  if (running_ || awaits_start_) return;
  try {
    begin();
  } catch (const LimitReached&) {  // the inbox keeps what there is to do
  }
}

// The thread that has left its loop needs the mutex no more.
void EventLoop::Impl::reap() {
  if (running_ || stopping_ || thread_id_ == 0) return;
  if (thread_.joinable()) thread_.join();
  await_exit(std::exchange(thread_id_, 0));
}

void EventLoop::Impl::run() {
  loop_of_this_thread = this;
  thread_id_ = this_thread_id();
  std::vector<Driven*> turn;
  while (take_in()) {
    while (Timer* const due = timers_.pop_due(clock_.now())) mark(static_cast<Driven&>(*due));
    turn.swap(ready_);
    for (Driven* const driven : turn) {
      if (!stopping_) step(*driven);
    }
    turn.clear();
    if (leaves()) return;
    if (!stopping_) wait();
  }
  for (auto& [pollable, driven] : driven_) poller_->drop(driven);
  driven_.clear();
  Inbox remaining;
  {
    const MutexLock lock(mutex_);
    std::swap(remaining, inbox_);
  }
}

// Nothing is driven, and nothing is to be: the thread ends.
bool EventLoop::Impl::leaves() {
  if (!driven_.empty()) return false;
  std::shared_ptr<Poller> poller;  // destroyed without the lock
  const MutexLock lock(mutex_);
  if (stays_ || stopping_ || !inbox_.empty()) return false;
  poller_.swap(poller);
  running_ = false;
  if (awaiting_ != nullptr) {
    awaiting_->notify();
  } else {
    thread_.detach();  // perhaps no other thread needs it any more
  }
  return true;
}

// False when the loop is stopped.
bool EventLoop::Impl::take_in() {
  {
    const MutexLock lock(mutex_);
    waiting_ = false;
    if (stopping_) return false;
    std::swap(taken_, inbox_);
  }
  for (std::function<void()>& task : taken_.tasks) {
    const std::function<void()> once = std::move(task);
    once();
  }
  taken_.tasks.clear();
  for (const std::shared_ptr<Pollable>& pollable : taken_.pollables) {
    Driven& driven = driven_[pollable.get()];
    driven.pollable = pollable;
    mark(driven);
  }
  taken_.pollables.clear();
  return true;
}

void EventLoop::Impl::mark(Driven& driven) {
  if (driven.ready) return;
  driven.ready = true;
  ready_.push_back(&driven);
}

void EventLoop::Impl::step(Driven& driven) {
  driven.ready = false;
  const Interest interest = driven.pollable->step(clock_.now());
  if (stopping_) return;  // run() lets go of all; the clock may be gone
  if (interest.done) {
    poller_->drop(driven);
    const std::shared_ptr<Pollable> last = std::move(driven.pollable);
    driven_.erase(last.get());
    return;
  }
  TimePoint until = interest.until;
  if (!poller_->update(driven, interest)) {
    until = std::min(until, after(clock_.now(), kBlindStep));
  }
  if (until == kNever) {
    driven.disarm();
  } else if (!driven.armed() || driven.at() != until) {
    timers_.arm(driven, until);
  }
}

void EventLoop::Impl::ring_at(TimePoint at, TimePoint now) {
  if (at >= alarm_) return;
  poller_->set_alarm(at - now);
  alarm_ = at;
}

void EventLoop::Impl::wait() {
  const TimePoint next = timers_.next();
  const TimePoint now = clock_.now();
  bool block = next > now;
  {
    const MutexLock lock(mutex_);
    if (block) ring_at(next, now);
    block = block && inbox_.empty() && !stopping_ && (stays_ || !driven_.empty());
    waiting_ = block;
  }
  if (poller_->wait(block, watched_)) {
    const MutexLock lock(mutex_);
    alarm_ = kNever;
  }
  for (Poller::Watch* const watch : watched_) mark(static_cast<Driven&>(*watch));
  watched_.clear();
}

EventLoop::EventLoop(const Clock& clock, std::string name)
    : impl_(std::make_shared<Impl>(clock, std::move(name))) {}

EventLoop::~EventLoop() {
  if (impl_->process_ != getpid()) {
    // Its locks and thread are as they were at some moment in the parent: out of anyone's reach.
    new std::shared_ptr<Impl>(std::move(impl_));
    return;
  }
  stop();
  if (on_loop_thread()) impl_->thread_.detach();
}

void EventLoop::drive(std::shared_ptr<Pollable> pollable) {
  impl_->put([&](Impl::Inbox& inbox) { inbox.pollables.push_back(std::move(pollable)); });
}

// It is stepped when the thread wakes, for whatever reason: at the alarm at the latest.
void EventLoop::drive_at(std::shared_ptr<Pollable> pollable, TimePoint at) {
  Impl& my = *impl_;
  std::shared_ptr<Poller> asleep;
  {
    const MutexLock lock(my.mutex_);
    if (my.stopping_) return;
    my.inbox_.pollables.push_back(std::move(pollable));
    my.begin_if_wanted();
    const TimePoint now = my.clock_.now();
    if (at <= now) asleep = my.sleeper();
    if (my.waiting_) my.ring_at(at, now);
  }
  if (asleep) asleep->wake();
}

void EventLoop::step_last(std::shared_ptr<Pollable> pollable) {
  Impl& my = *impl_;
  std::shared_ptr<Poller> asleep;
  {
    const MutexLock lock(my.mutex_);
    std::vector<std::shared_ptr<Pollable>>& kept = my.inbox_.pollables;
    if (my.running_ && !my.stopping_) {
      kept.push_back(std::move(pollable));
      asleep = my.sleeper();
    } else {
      kept.erase(std::remove(kept.begin(), kept.end(), pollable), kept.end());
    }
  }
  if (asleep) asleep->wake();
}

void EventLoop::post(std::function<void()> task) {
  impl_->put([&](Impl::Inbox& inbox) { inbox.tasks.push_back(std::move(task)); });
}

bool EventLoop::start() {
  const MutexLock lock(impl_->mutex_);
  if (impl_->stopping_ || impl_->running_) return false;
  impl_->begin();
  return true;
}

void EventLoop::stay(bool on) {
  Impl& my = *impl_;
  std::shared_ptr<Poller> asleep;
  Impl::Inbox left;  // that no thread has been started for; destroyed without the lock
  {
    const MutexLock lock(my.mutex_);
    my.stays_ = on;
    my.awaits_start_ = on;
    if (!on && !my.running_) std::swap(left, my.inbox_);
    if (my.awaiting_ != nullptr) my.awaiting_->notify();
    asleep = my.sleeper();
  }
  if (asleep) asleep->wake();
}

void EventLoop::await_end(TimePoint until) {
  Impl& my = *impl_;
  Parker& parker = Parker::of_this_thread();
  const MutexLock one_at_a_time(my.join_mutex_);
  MutexLock lock(my.mutex_);
  my.awaiting_ = &parker;
  while (my.running_ && !my.stays_ && !my.stopping_ && my.clock_.now() < until) {
    lock.unlock();
    parker.park(my.clock_, until);
    lock.lock();
  }
  my.awaiting_ = nullptr;
  my.reap();
}

void EventLoop::stop() {
  Impl& my = *impl_;
  std::shared_ptr<Poller> asleep;
  Impl::Inbox left;  // by a loop that could not start; destroyed without the lock
  {
    const MutexLock lock(my.mutex_);
    my.stopping_ = true;
    if (!my.running_) std::swap(left, my.inbox_);
    asleep = my.sleeper();
  }
  if (asleep) asleep->wake();
  if (on_loop_thread()) return;
  const MutexLock lock(my.join_mutex_);  // every caller returns after the end
  if (my.thread_.joinable()) my.thread_.join();
}

bool EventLoop::on_loop_thread() const { return loop_of_this_thread == impl_.get(); }

}  // namespace holdfast::net
