#include "interleavings/scheduler.h"

#include <semaphore.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "redis/base/mutex.h"

namespace holdfast::interleavings {

namespace {

constexpr std::uint64_t kTooMany = 200'000;  // points of one run
constexpr std::size_t kKept = 200;
// Within which the priorities fall: most runs have more points.
constexpr std::uint64_t kUsualPoints = 600;
constexpr Duration kLongestStall = Millis(120);

class Semaphore {
 public:
  Semaphore() { ::sem_init(&semaphore_, 0, 0); }
  ~Semaphore() { ::sem_destroy(&semaphore_); }
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  void post() { ::sem_post(&semaphore_); }
  void wait() {
    while (::sem_wait(&semaphore_) != 0) continue;
  }

 private:
  sem_t semaphore_{};
};

// Threads for one run after the other: each keeps what belongs to it, such as the Lua interpreter.
class Workers {
 public:
  static Workers& instance() {
    static auto* const workers = new Workers();  // never destroyed, as its threads never end
    return *workers;
  }

  void start(std::size_t number, std::function<void()> job) {
    while (workers_.size() <= number) add();
    Worker& worker = *workers_[number];
    worker.job = std::move(job);
    worker.begin.post();
  }

 private:
  struct Worker {
    Semaphore begin;
    std::function<void()> job;
  };

  void add() {
    workers_.push_back(std::make_unique<Worker>());
    std::thread([worker = workers_.back().get()] {
      for (;;) {
        worker->begin.wait();
        std::exchange(worker->job, nullptr)();
      }
    }).detach();
  }

  std::vector<std::unique_ptr<Worker>> workers_;
};

// Asked by the thread that has started run(), which waits until all have ended.
Semaphore& ended() {
  static Semaphore semaphore;
  return semaphore;
}

}  // namespace

struct Scheduler::Thread {
  std::string name;
  std::function<void()> work;
  Kind kind;
  int priority = 0;
  bool over = false;
  TimePoint stalled_until{};
  const Awaited* awaited = nullptr;
  Semaphore turn;
};

namespace {
struct Here {
  Scheduler* scheduler = nullptr;
  void* thread = nullptr;
};
thread_local Here here;
}  // namespace

Scheduler::Scheduler(World& world, const Readiness& network, std::uint64_t seed)
    : world_(world), network_(network), random_(seed), last_(kKept) {
  strategy_ = random_.chance(500) ? Strategy::kWalk : Strategy::kPriorities;
  constexpr unsigned kSwitches[] = {500, 150, 40};
  switches_ = kSwitches[random_.below(3)];
  constexpr unsigned kStalls[] = {0, 4, 15};
  stalls_ = kStalls[random_.below(3)];
  for (std::uint64_t changes = 1 + random_.below(4); changes > 0; --changes) {
    changes_.push_back(random_.below(kUsualPoints));
  }
}

Scheduler::~Scheduler() = default;

void Scheduler::add(std::string name, std::function<void()> body, Kind kind) {
  threads_.push_back(std::make_unique<Thread>());
  Thread& thread = *threads_.back();
  thread.name = std::move(name);
  thread.work = std::move(body);
  thread.kind = kind;
  usual_ += kind == Kind::kUsual ? 1 : 0;
}

void Scheduler::run() {
  // Fisher, Yates: the priorities, in a random order.
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    threads_[i]->priority = static_cast<int>(i) + 1;
    std::swap(threads_[i]->priority, threads_[random_.below(i + 1)]->priority);
  }
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    Workers::instance().start(i, [this, thread = threads_[i].get()] { body(*thread); });
  }
  choose(nullptr)->turn.post();
  ended().wait();
}

void Scheduler::body(Thread& thread) {
  thread.turn.wait();
  // A worker's first run takes a place to wait, later ones have it: not one of the run's points.
  (void)Parker::of_this_thread();
  here = {this, &thread};
  thread.work();
  thread.over = true;
  if (thread.kind == Kind::kUsual) stopping_ = --usual_ == 0;
  Thread* const next = choose(nullptr);
  here = {};
  (next != nullptr ? next->turn : ended()).post();
}

Scheduler* Scheduler::current() { return here.scheduler; }

void Scheduler::pass(const char* what, const void* where, const Awaited& awaited) {
  Thread& running = *static_cast<Thread*>(here.thread);
  note(running, what, where);
  if (points_ > kTooMany) give_up("the threads do not come to an end");
  disturb(running, what);
  running.awaited = &awaited;
  Thread* const next = choose(&running);
  if (next != &running) {
    next->turn.post();
    running.turn.wait();
  }
  running.awaited = nullptr;
}

// The running thread falls behind all others, or is suspended for a while; rather when it has just
// looked at something by which it decides.
void Scheduler::disturb(Thread& running, std::string_view what) {
  const bool falls = std::find(changes_.begin(), changes_.end(), points_) != changes_.end();
  if (falls) running.priority = --lowest_;
  const bool stands =
      falls ? random_.chance(500) : random_.chance(what == "load" ? 20 * stalls_ : stalls_);
  if (stands) {
    running.stalled_until = world_.now() + random_.between({}, kLongestStall);
    stood_still_until_ = std::max(stood_still_until_, running.stalled_until);
  }
}

bool Scheduler::may_run(const Thread& thread) const {
  if (thread.over || world_.now() < thread.stalled_until) return false;
  return thread.awaited == nullptr || thread.awaited->ready() ||
         thread.awaited->until() <= world_.now();
}

// Null: all have ended.
Scheduler::Thread* Scheduler::choose(Thread* running) {
  std::vector<Thread*> able;
  do {
    able.clear();
    for (const auto& thread : threads_) {
      if (may_run(*thread)) able.push_back(thread.get());
    }
  } while (able.empty() && pass_time());
  if (able.empty()) return nullptr;
  if (strategy_ == Strategy::kPriorities) {
    return *std::max_element(able.begin(), able.end(), [](const Thread* one, const Thread* other) {
      return one->priority < other->priority;
    });
  }
  const bool goes_on = std::find(able.begin(), able.end(), running) != able.end();
  if (goes_on && !random_.chance(switches_)) return running;
  return able[random_.below(able.size())];
}

// False when all threads have ended.
bool Scheduler::pass_time() {
  TimePoint next = kNever;
  bool all_over = true;
  for (const auto& thread : threads_) {
    if (thread->over) continue;
    all_over = false;
    const bool stalled = world_.now() < thread->stalled_until;
    next = std::min(next, stalled || thread->awaited == nullptr ? thread->stalled_until
                                                                : thread->awaited->until());
  }
  if (all_over) return false;
  if (next == kNever) give_up("no thread can go on");
  world_.advance_to(next);
  return true;
}

void Scheduler::note(const Thread& thread, const char* what, const void* where) {
  const Point point{&thread, what, number_of(where), world_.now()};
  last_[points_++ % kKept] = point;
  if (world_.tracing) world_.say(thread.name, ": ", what, " #", std::to_string(point.object));
}

// Objects are numbered as they appear, as their addresses differ from run to run.
std::size_t Scheduler::number_of(const void* where) {
  if (!world_.tracing) return 0;
  const auto found = std::find(objects_.begin(), objects_.end(), where);
  if (found == objects_.end()) objects_.push_back(where);
  return static_cast<std::size_t>(
      std::distance(objects_.begin(), std::find(objects_.begin(), objects_.end(), where)));
}

std::string Scheduler::line(const Point& point) const {
  const auto time = std::chrono::duration_cast<std::chrono::microseconds>(
      point.at - TimePoint(std::chrono::hours(1)));
  return std::to_string(time.count()) + " us  " + point.thread->name + ": " + point.what;
}

void Scheduler::give_up(const char* why) const {
  std::fprintf(stderr, "%s\n%s; the last points:\n", heading.c_str(), why);
  const std::uint64_t kept = std::min<std::uint64_t>(points_, kKept);
  for (std::uint64_t i = points_ - kept; i < points_; ++i) {
    std::fprintf(stderr, "%s\n", line(last_[i % kKept]).c_str());
  }
  for (const std::string& said : world_.diary) std::fprintf(stderr, "%s\n", said.c_str());
  for (const auto& thread : threads_) {
    const char* const state = thread->over ? "has ended" : may_run(*thread) ? "can go on" : "waits";
    std::fprintf(stderr, "%s %s\n", thread->name.c_str(), state);
  }
  std::fflush(stderr);
  std::_Exit(1);
}

void pass(const char* what, const void* where, const Awaited& awaited) {
  if (Scheduler* const scheduler = Scheduler::current()) scheduler->pass(what, where, awaited);
}

}  // namespace holdfast::interleavings
