#include <poll.h>

#include <array>
#include <atomic>
#include <utility>
#include <vector>

#include "redis/base/mutex.h"
#include "redis/base/process.h"

namespace holdfast {

namespace {

// The Parkers of threads that have ended.
struct Pool {
  Mutex mutex;
  std::vector<Parker*> idle HOLDFAST_GUARDED_BY(mutex);
};

thread_local Parker* g_mine = nullptr;

struct Lodging {
  Lodging() {
    Pool& pool = OfProcess<Pool>::instance();
    const MutexLock lock(pool.mutex);
    if (pool.idle.empty()) pool.idle.push_back(new Parker());
    g_mine = pool.idle.back();
    pool.idle.pop_back();
  }
  ~Lodging() {
    Pool& pool = OfProcess<Pool>::instance();
    const MutexLock lock(pool.mutex);
    pool.idle.push_back(g_mine);
  }
  Lodging(const Lodging&) = delete;
  Lodging& operator=(const Lodging&) = delete;
};

// The wake-ups that no poll() has. Without a lock, which a child of fork() could inherit locked.
class IdleDescriptors {
 public:
  // None, where the process has none left. In a child of fork() the parent's are closed.
  Descriptor take() {
    for (Slot& slot : slots_) {
      Descriptor found = slot.take();
      if (found.open()) return found;
    }
    return make_wake_up();
  }

  void give(Descriptor wake_up) {
    for (Slot& slot : slots_) {
      if (!keeps || !slot.give(wake_up)) continue;
      if (!keeps) close_all();
      return;
    }
  }

  void close_all() {
    for (Slot& slot : slots_) (void)slot.take();
  }

  std::atomic<bool> keeps{true};  // what is given

 private:
  // Where two threads reach for it at once, one of them looks at the next.
  class Slot {
   public:
    Descriptor take() {
      if (!change(kFull, kReached)) return {};
      Descriptor found = std::move(wake_up_);
      state_.store(kEmpty);
      return found;
    }
    bool give(Descriptor& wake_up) {
      if (!change(kEmpty, kReached)) return false;
      wake_up_ = std::move(wake_up);
      state_.store(kFull);
      return true;
    }

   private:
    enum State : std::uint8_t { kEmpty, kReached, kFull };
    bool change(State from, State to) {
      return state_.load(std::memory_order_relaxed) == from &&
             state_.compare_exchange_strong(from, to);
    }

    std::atomic<State> state_{kEmpty};
    Descriptor wake_up_;
  };

  // More threads than that poll at once only with as many connections.
  static constexpr std::size_t kSlots = 32;

  std::array<Slot, kSlots> slots_;
};

// Never destroyed: threads may poll until the process ends.
IdleDescriptors& g_idle = *new IdleDescriptors();

std::atomic<std::uint32_t> g_parkers{0};

}  // namespace

std::array<FutexWord, Parker::kWords> Parker::words_{};

Parker::Parker()
    : number_(g_parkers.fetch_add(1)),
      word_(number_ / 32 % kWords),
      bit_(std::uint32_t{1} << number_ % 32) {}

void Parker::keep_descriptors(bool on) {
  g_idle.keeps = on;
  if (!on) g_idle.close_all();
}

Parker& Parker::of_this_thread() {
  if (g_mine == nullptr) {
    thread_local const Lodging lodging;
  }
  return *g_mine;
}

void Parker::notify() {
  if (rouse()) wake(word_, bit_);
}

// True: it has to be woken. The Parker may have another thread by the end of this: its state is not
// read again.
bool Parker::rouse() {
  const std::uint32_t before = state_.exchange(kNotified);
  if (before == kPolling) holdfast::wake(wake_fd());  // for which end_poll() waits
  return before == kAsleep;
}

Parker::Notifier::~Notifier() {
  for (std::size_t i = 0; i < kWords; ++i) {
    if (asleep_[i] != 0) wake(i, asleep_[i]);
  }
}

// A thread that is about to sleep there sees another word, and does not.
void Parker::wake(std::size_t word, std::uint32_t bits) {
  words_[word].fetch_add(1);
  futex_wake(words_[word], bits);
}

void Parker::park(const Clock& clock, TimePoint until) {
  for (;;) {
    if (change(kNotified, kAwake)) return;
    const TimePoint now = until == kNever ? TimePoint{} : clock.now();
    if (now >= until) return;
    const std::uint32_t before = words_[word_].load();
    if (!change(kAwake, kAsleep)) continue;
    futex_wait(words_[word_], before, bit_, until - now);
    if (state_.exchange(kAwake) == kNotified) return;
  }
}

bool Parker::begin_poll() {
  wake_up_ = g_idle.take();
  fd_.store(wake_up_.get(), std::memory_order_relaxed);
  if (change(kAwake, kPolling)) return true;
  state_.store(kAwake);
  give_back();
  return false;
}

void Parker::end_poll() {
  const int fd = wake_fd();
  if (state_.exchange(kAwake) == kNotified && fd >= 0) {
    // Until it is written, the notifier may use the descriptor.
    while (!clear_wake_up(fd)) {
      pollfd written{fd, POLLIN, 0};
      ::poll(&written, 1, -1);
    }
  }
  give_back();
}

void Parker::give_back() {
  fd_.store(-1, std::memory_order_relaxed);
  if (wake_up_.open()) g_idle.give(std::move(wake_up_));
}

void WakeBatch::wake() {
  Parker::Notifier notifier;
  for (std::size_t i = 0; i < size_; ++i) notifier.notify(*few_[i]);
  for (Parker* const parker : more_) notifier.notify(*parker);
}

void WakeBatch::notify(Parker& parker) {
  WakeBatch* const batch = current_;
  if (batch == nullptr) return parker.notify();
  if (batch->size_ < batch->few_.size()) {
    batch->few_[batch->size_++] = &parker;
  } else {
    batch->more_.push_back(&parker);
  }
}

}  // namespace holdfast
