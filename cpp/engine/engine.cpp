#include "engine/engine.h"

#include <algorithm>
#include <atomic>
#include <string>

#include "base/process.h"
#include "net/transport.h"

namespace holdfast::engine {

namespace {

std::atomic<Engine*> g_engine{nullptr};
std::atomic<std::size_t> g_watchdog_threads{2};

// Runs in the child right after fork(), where only async-signal-safe steps are allowed.
void forget_parent() {
  net::close_inherited_sockets();
  g_engine.store(nullptr);
}

class ThreadOwner {
 public:
  OwnerNumber number() const { return number_; }
  ~ThreadOwner() {
    if (Engine* engine = g_engine.load()) engine->owner_ended(number_);
  }

 private:
  const OwnerNumber number_ = next_owner_number();
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

Engine& Engine::instance() {
  static const bool registered = (call_in_child(forget_parent), true);
  (void)registered;
  Engine* engine = g_engine.load();
  if (engine != nullptr) return *engine;
  auto* fresh = new Engine();
  if (g_engine.compare_exchange_strong(engine, fresh)) return *fresh;
  delete fresh;
  return *engine;
}

void Engine::set_watchdog_threads(std::size_t count) { g_watchdog_threads.store(count); }

topology::Loops Engine::assign_loops() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::size_t wanted = std::max<std::size_t>(1, g_watchdog_threads.load());
  while (watchdog_.size() < wanted) {
    const std::string name = "holdfast-dog-" + std::to_string(watchdog_.size());
    watchdog_.push_back(std::make_unique<net::EventLoop>(clock_, name));
  }
  return {*io_, *watchdog_[next_++ % wanted]};
}

void Engine::add(std::weak_ptr<lease::LeaseKeeper> keeper) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto gone = [](const std::weak_ptr<lease::LeaseKeeper>& k) { return k.expired(); };
  keepers_.erase(std::remove_if(keepers_.begin(), keepers_.end(), gone), keepers_.end());
  keepers_.push_back(std::move(keeper));
}

void Engine::owner_ended(OwnerNumber owner) {
  std::vector<std::weak_ptr<lease::LeaseKeeper>> keepers;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    keepers = keepers_;
  }
  for (const auto& weak : keepers) {
    if (const auto keeper = weak.lock()) keeper->owner_ended(owner);
  }
}

OwnerNumber current_thread_owner() {
  thread_local const ThreadOwner owner;
  return owner.number();
}

}  // namespace holdfast::engine
