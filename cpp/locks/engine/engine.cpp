#include "locks/engine/engine.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <unordered_map>

#include "locks/lease/overview.h"
#include "redis/base/mutex.h"
#include "redis/base/process.h"
#include "redis/client.h"

namespace holdfast::engine {

namespace {

constexpr Millis kEndInVain{100};

std::atomic<std::size_t> g_watchdog_threads{2};

// The system's ids of the owners' threads; for messages.
class ThreadTable {
 public:
  void add(OwnerNumber owner) {
    const MutexLock lock(mutex_);
    ids_[owner] = this_thread_id();
  }
  void remove(OwnerNumber owner) {
    const MutexLock lock(mutex_);
    ids_.erase(owner);
  }
  int find(OwnerNumber owner) {
    const MutexLock lock(mutex_);
    const auto found = ids_.find(owner);
    return found == ids_.end() ? 0 : found->second;
  }

 private:
  Mutex mutex_;
  std::unordered_map<OwnerNumber, int> ids_ HOLDFAST_GUARDED_BY(mutex_);
};

ThreadTable& threads() { return OfProcess<ThreadTable>::instance(); }

class ThreadOwner {
 public:
  ThreadOwner() { threads().add(number); }
  ~ThreadOwner() {
    threads().remove(number);
    if (Engine* engine = OfProcess<Engine>::existing()) engine->owner_ended(number, "thread");
  }

  const OwnerNumber number = next_owner_number();
};

}  // namespace

Engine::Engine()
    : events_(std::make_shared<EventQueue>()),
      io_(std::make_unique<net::EventLoop>(clock_, "holdfast-io")) {
  for (std::size_t i = 0; i < std::max<std::size_t>(1, g_watchdog_threads.load()); ++i) {
    watchdog_.push_back(
        std::make_unique<net::EventLoop>(clock_, "holdfast-dog-" + std::to_string(i)));
  }
}

Engine& Engine::instance() { return OfProcess<Engine>::instance(); }

void Engine::set_watchdog_threads(std::size_t count) { g_watchdog_threads.store(count); }

Engine::Usage::Usage(Engine& engine)
    : engine_(engine.begin_use()), io_(*engine_.io_), watchdog_(engine_.assign_watchdog()) {}

Engine::Usage::~Usage() {
  const MutexLock lock(engine_.mutex_);
  if (--engine_.usages_ > 0) return;
  for (net::EventLoop* const loop : engine_.loops()) loop->stay(false);
  engine_.stop_events_if_unused();
  Parker::keep_descriptors(false);
}

Engine::Reports::Reports(Engine& engine, const net::Loop& loop) : engine_(engine), loop_(loop) {
  const MutexLock lock(engine_.mutex_);
  engine_.reporting_.push_back(&loop_);
}

Engine::Reports::~Reports() {
  const MutexLock lock(engine_.mutex_);
  std::vector<const net::Loop*>& all = engine_.reporting_;
  all.erase(std::find(all.begin(), all.end(), &loop_));
  engine_.stop_events_if_unused();
}

std::vector<net::EventLoop*> Engine::loops() {
  std::vector<net::EventLoop*> loops{io_.get()};
  for (const auto& loop : watchdog_) loops.push_back(loop.get());
  return loops;
}

Engine& Engine::begin_use() {
  const MutexLock lock(mutex_);
  if (usages_++ > 0) return *this;
  Parker::keep_descriptors(true);
  for (net::EventLoop* const loop : loops()) loop->stay(true);
  return *this;
}

// A loop that is begun in vain ends again: it drives nothing yet.
void Engine::Usage::start() {
  const MutexLock lock(engine_.mutex_);
  std::vector<net::EventLoop*> begun;
  try {
    for (net::EventLoop* const loop : {&io_, &watchdog_}) {
      if (loop->start()) begun.push_back(loop);
    }
  } catch (const LimitReached&) {
    for (net::EventLoop* const loop : begun) {
      loop->stay(false);
      loop->await_end(after(engine_.clock_.now(), kEndInVain));
      loop->stay(true);
    }
    throw;
  }
}

void Engine::stop_events_if_unused() {
  if (usages_ == 0 && reporting_.empty()) events_->stop();
}

void Engine::await_end_of_threads(Duration longest) {
  std::vector<net::EventLoop*> ending;
  {
    const MutexLock lock(mutex_);
    for (net::EventLoop* const loop : loops()) {
      const bool reports =
          std::find(reporting_.begin(), reporting_.end(), loop) != reporting_.end();
      if (usages_ == 0 && !reports) ending.push_back(loop);
    }
  }
  const TimePoint until = after(clock_.now(), longest);
  for (net::EventLoop* const loop : ending) loop->await_end(until);
}

net::EventLoop& Engine::assign_watchdog() {
  const MutexLock lock(mutex_);
  const std::size_t wanted = std::max<std::size_t>(1, g_watchdog_threads.load());
  while (watchdog_.size() < wanted) {
    const std::string name = "holdfast-dog-" + std::to_string(watchdog_.size());
    watchdog_.push_back(std::make_unique<net::EventLoop>(clock_, name));
  }
  return *watchdog_[next_++ % wanted];
}

void Engine::add(std::weak_ptr<lease::Keeper> keeper) {
  const MutexLock lock(mutex_);
  const auto gone = [](const std::weak_ptr<lease::Keeper>& k) { return k.expired(); };
  keepers_.erase(std::remove_if(keepers_.begin(), keepers_.end(), gone), keepers_.end());
  keepers_.push_back(std::move(keeper));
}

void Engine::owner_ended(OwnerNumber owner, const std::string& what) {
  std::vector<std::weak_ptr<lease::Keeper>> keepers;
  {
    const MutexLock lock(mutex_);
    keepers = keepers_;
  }
  for (const auto& weak : keepers) {
    if (const auto keeper = weak.lock()) lease::owner_ended(*keeper, owner, what);
  }
}

int thread_of(OwnerNumber owner) { return threads().find(owner); }

OwnerNumber current_thread_owner() {
  thread_local OwnerNumber known{};
  if (known == OwnerNumber{}) {
    thread_local const ThreadOwner owner;
    known = owner.number;
  }
  return known;
}

}  // namespace holdfast::engine
