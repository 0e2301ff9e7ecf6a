#include "locks/engine/guarded.h"

#include <poll.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "redis/base/process.h"
#include "redis/net/pollable.h"

#ifdef __linux__
#include "guard/enrolment.h"
#endif

namespace holdfast::engine {

namespace {

void post(EventSink& events, const std::string& reason) {
  Event event;
  event.kind = Event::Kind::kUnguarded;
  event.reason = reason;
  events.post(std::move(event));
}

}  // namespace

// Waits for the end of the guard process.
class GuardWatch final : public net::Pollable {
 public:
  GuardWatch(Descriptor socket, int its_pid, std::shared_ptr<EventSink> events)
      : pid(std::make_shared<std::atomic<int>>(its_pid)),
        socket_(std::move(socket)),
        events_(std::move(events)) {}

  const std::shared_ptr<std::atomic<int>> pid;

  // The guard is of no use to this client from now on.
  void fail(const std::string& reason) {
    stopped_ = true;
    *pid = 0;
    post(*events_, reason);
  }

  void stop() {
    stopped_ = true;
    *pid = 0;
  }

  net::Interest step(TimePoint /*now*/) override {
    net::Interest interest;
    pollfd end{socket_.get(), net::kPollHangUp, 0};
    const bool ended = poll(&end, 1, 0) > 0;
    if (ended && !stopped_) post(*events_, "the guard of this program has ended");
    interest.done = ended || stopped_;
    if (interest.done) {
      *pid = 0;
      socket_.reset();
    } else {
      interest.fd = socket_.get();
      interest.hangup = true;
    }
    return interest;
  }

 private:
  Descriptor socket_;
  const std::shared_ptr<EventSink> events_;
  std::atomic<bool> stopped_{false};
};

#ifdef __linux__

Status Guarded::possible() { return guard::Guard::possible(); }

void Guarded::keep_at_exit() { guard::Enrolment::keep_at_exit(); }

std::unique_ptr<Guarded> Guarded::begin(const Client& client,
                                        const std::shared_ptr<EventSink>& events, net::Loop& loop) {
  if (client.path.empty()) return nullptr;
  Result<std::shared_ptr<guard::Enrolment>> enrolment = Status::invalid("not begun");
  without_interpreter([&] { enrolment = guard::Enrolment::make(client.path, client.id); });
  if (!enrolment.ok()) {
    post(*events, enrolment.status().message());
    return nullptr;
  }
  const guard::Guard& guard = enrolment.value()->guard();
  Descriptor watched = guard.watched();
  if (!watched.open()) {
    post(*events, "the guard cannot be watched: " + limit_text("fcntl", errno));
    return nullptr;
  }
  const auto watch = std::make_shared<GuardWatch>(std::move(watched), guard.pid(), events);
  loop.drive(watch);
  return std::unique_ptr<Guarded>(new Guarded(std::move(enrolment.value()), watch, loop));
}

void Guarded::prepare(topology::Setup& setup) {
  enrolment_->set_endpoint(setup.endpoint,
                           [weak = std::weak_ptr<GuardWatch>(watch_)](const std::string& reason) {
                             if (const auto watch = weak.lock()) watch->fail(reason);
                           });
  setup.witness = [weak = std::weak_ptr<guard::Enrolment>(enrolment_)] {
    const auto enrolment = weak.lock();
    return enrolment ? enrolment->witness() : nullptr;
  };
}

void Guarded::attach(const std::shared_ptr<topology::Topology>& topology, lease::Keeper& keeper) {
  enrolment_->set_topology(topology);
  keeper.set_records(enrolment_);
}

#else

Status Guarded::possible() { return Status::invalid("the guard needs Linux"); }

void Guarded::keep_at_exit() {}

std::unique_ptr<Guarded> Guarded::begin(const Client& client,
                                        const std::shared_ptr<EventSink>& events,
                                        net::Loop& /*loop*/) {
  if (!client.path.empty()) post(*events, possible().message());
  return nullptr;
}

void Guarded::prepare(topology::Setup& /*setup*/) {}

void Guarded::attach(const std::shared_ptr<topology::Topology>& /*topology*/,
                     lease::Keeper& /*keeper*/) {}

#endif

Guarded::Guarded(std::shared_ptr<guard::Enrolment> enrolment, std::shared_ptr<GuardWatch> watch,
                 net::Loop& loop)
    : enrolment_(std::move(enrolment)), watch_(std::move(watch)), loop_(loop) {}

Guarded::Pid Guarded::pid() const { return watch_->pid; }

Guarded::~Guarded() {
  watch_->stop();
  loop_.step_last(watch_);
}

}  // namespace holdfast::engine
