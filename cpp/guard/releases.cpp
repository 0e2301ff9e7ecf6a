#include "guard/releases.h"

#include <poll.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "guard/settings.h"
#include "locks/sync/recipes/kinds.h"
#include "locks/sync/recipes/permit_semaphore.h"
#include "redis/client.h"
#include "redis/net/pollable.h"
#include "redis/resp/reply.h"
#include "redis/script/writer.h"

namespace holdfast::guard {

namespace {

constexpr Millis kConnectTime{3000};
// The silence of a server with commands in flight, until its connection is given up.
constexpr Millis kSilence{2000};
constexpr Millis kLateAcquire{50};
// For the sentinels to name another primary than the known one, which may answer as before.
constexpr Millis kSentinels{500};
constexpr Millis kBackoff{50};  // doubling
constexpr Millis kLongestBackoff{1000};
// Between two looks at the holds that wait for room.
constexpr Millis kNextLook{50};
// The commands in flight on a new connection: each may need its script's text.
constexpr std::size_t kRoom = 16;

// The place in kPermitKinds of a permit's record.
std::size_t permit_of(const HeldRecord& record) {
  return std::size_t{HeldRecord::kPermit} - record.kind;
}

bool is_permit(const HeldRecord& record) { return permit_of(record) < sync::kPermitKinds.size(); }

// The client's own key is none: what would make it again is not in the page.
bool renewable(const HeldRecord& record) {
  return is_permit(record) || !sync::kLockKinds.at(record.kind).word.empty();
}

void write_renewal(script::Writer& out, const HeldRecord& record, Millis lease) {
  if (is_permit(record)) {
    const LockName name(record.name);
    return sync::permit_steps().extend.write(out, sync::about_permits(name, record.owner, lease));
  }
  const sync::LockKind& kind = sync::kLockKinds.at(record.kind);
  const LockName name(record.name, kind.side);
  kind.recipe().renew(out, {{&name, record.owner}}, lease);
}

void write_release(script::Writer& out, const HeldRecord& record) {
  if (is_permit(record)) {
    const LockName name(record.name);
    const sync::PermitKind& kind = sync::kPermitKinds.at(permit_of(record))();
    return kind.release.write(out, sync::about_permits(name, record.owner));
  }
  const sync::LockKind& kind = sync::kLockKinds.at(record.kind);
  const LockName name(record.name, kind.side);
  kind.recipe().release(out, {name, record.owner});
}

struct RecordedHold {
  HeldRecord record;
  Millis lease;  // what a renewal sets
  bool on_way = false;
  bool released = false;
  TimePoint due{};  // not before
  Millis backoff = kBackoff;
};

// By one connection: no more releases are on their way than it has answered, and a few.
struct Way {
  std::size_t on_way = 0;
  std::size_t room = kRoom;
};

// After a restart of the server, or at another one, the number may be of another client: so its
// address has to be the same, too. By a unix socket all have the same.
std::vector<resp::Command> closing(const std::vector<std::string>& connections) {
  std::vector<resp::Command> commands;
  for (const std::string_view info : connections) {
    const auto value = [info](std::string_view name) {
      const std::size_t at = info.find(name);
      if (at == std::string_view::npos) return std::string_view();
      const std::size_t begin = at + name.size();
      return info.substr(begin, info.find(' ', begin) - begin);
    };
    const std::string_view number = value("id=");
    const std::string_view address = value(" addr=");
    if (address.empty() || address.front() == '/') continue;
    commands.push_back({"CLIENT", "KILL", "ID", number, "ADDR", address});
  }
  return commands;
}

topology::Setup setup_of(const Settings& settings) {
  const net::Endpoint& endpoint = settings.endpoint;
  topology::Setup setup;
  setup.endpoint = endpoint;
  setup.primary = settings.primary;
  setup.pubsub = client::PubSub::kClassic;
  for (const auto mode : {client::PubSub::kSharded, client::PubSub::kBoth}) {
    if (topology::publish_command_of(mode) == settings.publish) setup.pubsub = mode;
  }
  setup.driver = client::Connection::Driver::kLoop;
  client::StreamOptions& link = setup.link;
  link.address = endpoint.addresses.front();
  link.tls = endpoint.tls;
  link.credentials = endpoint.credentials;
  link.database = endpoint.database;
  link.connect_timeout = kConnectTime;
  link.command_timeout = kSilence;
  link.retries = std::numeric_limits<int>::max();
  link.also_sent = closing(settings.connections);
  if (!endpoint.address_table.empty()) {
    link.address_map =
        std::make_shared<net::AddressMap>(endpoint.address_table, net::AddressSource());
  }
  return setup;
}

// poll() does not count the time of a suspended machine.
constexpr Millis kLongest{1000};

// Drives Pollables on the thread that calls step(): the guard has no other. Not thread-safe.
class ThreadLoop final : public net::Loop {
 public:
  explicit ThreadLoop(const Clock& clock) : clock_(clock) {}

  void drive(std::shared_ptr<net::Pollable> pollable) override;

  // Waits for the next event, until `until` at most, and steps what it concerns.
  void step(TimePoint until);

 private:
  struct Driven {
    std::shared_ptr<net::Pollable> pollable;
    net::Interest interest{};
    bool due = true;
  };

  void await(TimePoint until);

  const Clock& clock_;
  std::map<net::Pollable*, Driven> all_;
};

void ThreadLoop::drive(std::shared_ptr<net::Pollable> pollable) {
  net::Pollable* const which = pollable.get();
  all_.try_emplace(which, Driven{std::move(pollable)}).first->second.due = true;
}

void ThreadLoop::step(TimePoint until) {
  await(until);
  std::vector<std::shared_ptr<net::Pollable>> due;
  for (auto& [which, driven] : all_) {
    if (driven.due) due.push_back(driven.pollable);
    driven.due = false;
  }
  for (const auto& each : due) {
    const net::Interest next = each->step(clock_.now());
    const auto found = all_.find(each.get());
    found->second.interest = next;
    if (next.done && !found->second.due) all_.erase(found);
  }
}

void ThreadLoop::await(TimePoint until) {
  std::vector<pollfd> waited;
  std::vector<Driven*> waiting;
  const TimePoint now = clock_.now();
  until = std::min(until, after(now, kLongest));
  for (auto& [which, driven] : all_) {
    until = std::min(until, driven.due ? now : driven.interest.until);
    const net::Interest& wanted = driven.interest;
    if (wanted.fd < 0) continue;
    const int events = (wanted.read ? POLLIN : 0) | (wanted.write ? POLLOUT : 0) |
                       (wanted.hangup ? net::kPollHangUp : 0);
    waited.push_back({wanted.fd, static_cast<short>(events), 0});
    waiting.push_back(&driven);
  }
  const auto left = std::chrono::ceil<Millis>(std::max<Duration>(until - now, Duration::zero()));
  const int ready = poll(waited.data(), waited.size(), static_cast<int>(left.count()));
  for (std::size_t i = 0; ready > 0 && i < waited.size(); ++i) {
    if (waited[i].revents != 0) waiting[i]->due = true;
  }
  const TimePoint woken = clock_.now();
  for (auto& [which, driven] : all_) {
    if (driven.interest.until <= woken) driven.due = true;
  }
}

// Steps when the other end of a pipe, which keeps the holds, is open no more.
class Keeper final : public net::Pollable {
 public:
  // -1: there is none.
  explicit Keeper(int pipe) : pipe_(pipe) {}

  // Bytes in the pipe mean nothing.
  bool open() const {
    pollfd end{pipe_, 0, 0};
    return pipe_ >= 0 && poll(&end, 1, 0) == 0;
  }
  net::Interest step(TimePoint /*now*/) override {
    net::Interest next;
    next.fd = pipe_;
    next.done = !open();
    return next;
  }

 private:
  const int pipe_;
};

class Releases {
 public:
  Releases(const Clock& clock, const Settings& settings, std::vector<HeldRecord> held, int keeper);
  void run();

 private:
  class Step;

  bool over(TimePoint now) const;
  void take_back();
  void submit(TimePoint now);
  void end(RecordedHold& hold);
  void answered(RecordedHold& hold, bool renewal, const Result<resp::Reply>& reply, TimePoint sent);
  void renewed(RecordedHold& hold, const resp::Reply& reply, TimePoint sent);

  const Clock& clock_;
  const std::shared_ptr<Keeper> keeper_;
  bool keeping_;
  const TimePoint late_;  // what is sent from now on, finds no acquire on its way behind it
  TimePoint stays_until_;
  ThreadLoop loop_;
  std::vector<RecordedHold> holds_;
  std::size_t released_ = 0;
  std::map<std::shared_ptr<client::Connection>, Way> ways_;
  std::size_t on_way_ = 0;
  std::size_t answered_ = 0;  // since the latest look at what waits
  TimePoint next_look_{};
  bool lost_ = false;  // a server may not have what it, or another one, has answered
  std::shared_ptr<topology::Topology> topology_;
};

// The release of one hold, or its renewal.
class Releases::Step final : public client::Request {
 public:
  Step(Releases& all, RecordedHold& hold, Way& way)
      : all_(all), hold_(hold), way_(way), renewal_(all.keeping_) {
    persistent = true;
    deadline = hold.record.deadline;
    ++way_.on_way;
  }

  std::string_view key() const override { return hold_.record.name; }
  resp::ReplyKinds encode(std::string& out, bool by_text) const override {
    script::Writer writer(out, by_text, all_.topology_->publish_command());
    if (renewal_) {
      write_renewal(writer, hold_.record, hold_.lease);
    } else {
      write_release(writer, hold_.record);
    }
    return writer.replies();
  }
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override {
    --way_.on_way;
    if (reply.ok()) ++way_.room;
    all_.answered(hold_, renewal_, reply, sent.last);
  }

 private:
  Releases& all_;
  RecordedHold& hold_;
  Way& way_;
  const bool renewal_;
};

Releases::Releases(const Clock& clock, const Settings& settings, std::vector<HeldRecord> held,
                   int keeper)
    : clock_(clock),
      keeper_(std::make_shared<Keeper>(keeper)),
      keeping_(keeper_->open()),
      late_(after(clock.now(), kLateAcquire)),
      loop_(clock) {
  const TimePoint now = clock.now();
  for (HeldRecord& record : held) {
    const auto left = std::chrono::duration_cast<Millis>(record.deadline - now);
    const bool known = is_permit(record) || record.kind < sync::kLockKinds.size();
    if (known) holds_.push_back({std::move(record), std::max(left, kLeastKept)});
  }
  topology::Setup setup = setup_of(settings);
  const bool service = setup.endpoint.deployment == net::Deployment::kSentinel;
  stays_until_ = service ? after(clock.now(), kSentinels) : clock.now();
  if (service) setup.on_lost = [this] { lost_ = true; };
  topology_ = topology::make(clock_, {loop_, loop_}, setup);
  if (keeping_) loop_.drive(keeper_);
}

void Releases::run() {
  for (TimePoint now = clock_.now(); !over(now); now = clock_.now()) {
    if (std::exchange(lost_, false)) take_back();
    if (keeping_ && !keeper_->open()) {
      keeping_ = false;
      for (RecordedHold& hold : holds_) hold.due = {};
      next_look_ = {};
    }
    if (now >= next_look_ || answered_ >= on_way_) submit(now);
    if (!over(now)) loop_.step(next_look_);
  }
  topology_->close(Status::closed("all is released"));
}

bool Releases::over(TimePoint now) const {
  return released_ == holds_.size() && now >= stays_until_ && !lost_;
}

void Releases::take_back() {
  released_ = 0;
  for (RecordedHold& hold : holds_) {
    hold.released = false;
    if (keeping_) hold.due = {};
  }
  next_look_ = {};
}

void Releases::submit(TimePoint now) {
  answered_ = 0;
  next_look_ = after(now, keeping_ ? kLongest : kNextLook);
  for (RecordedHold& hold : holds_) {
    if (hold.on_way || hold.released || (keeping_ && !renewable(hold.record))) continue;
    if (hold.record.deadline <= now) {
      end(hold);
      continue;
    }
    if (hold.due > now) {
      next_look_ = std::min(next_look_, hold.due);
      continue;
    }
    const auto connection = topology_->route(hold.record.name, topology::Traffic::kCalls);
    Way& way = ways_[connection];
    if (way.on_way >= way.room) continue;
    hold.on_way = true;
    ++on_way_;
    const auto step = std::make_shared<Step>(*this, hold, way);
    const Status refused = connection->submit(step);
    if (!refused.ok()) step->complete(refused, {});
  }
}

void Releases::end(RecordedHold& hold) {
  hold.released = true;
  ++released_;
}

void Releases::answered(RecordedHold& hold, bool renewal, const Result<resp::Reply>& reply,
                        TimePoint sent) {
  hold.on_way = false;
  --on_way_;
  ++answered_;
  const bool error = reply.ok() && reply.value().is_error();
  const resp::Pace pace = error ? resp::pace_of_release(reply.value().text()) : resp::Pace::kNever;
  if (pace == resp::Pace::kEachSecond) hold.backoff = kLongestBackoff;
  if (!reply.ok() || pace != resp::Pace::kNever) {
    hold.due = after(clock_.now(), hold.backoff);
    hold.backoff = std::min(2 * hold.backoff, kLongestBackoff);
  } else if (renewal) {
    renewed(hold, reply.value(), sent);
  } else if (sent >= late_) {
    end(hold);
  } else {
    hold.due = late_;
  }
}

void Releases::renewed(RecordedHold& hold, const resp::Reply& reply, TimePoint sent) {
  if (!reply.is_error()) {
    const HeldRecord& record = hold.record;
    const bool lasts =
        is_permit(record)
            ? reply.integer() != 0
            : sync::kLockKinds.at(record.kind).recipe().renewed(reply, 1).front() != 0;
    if (!lasts) return end(hold);
    hold.backoff = kBackoff;
    hold.record.deadline = std::max(hold.record.deadline, after(sent, hold.lease));
  }
  constexpr int kThird = 3;
  hold.due = keeping_ ? after(sent, hold.lease / kThird) : TimePoint{};
}

}  // namespace

void release_all(const HeldPageView& page, int keeper) {
  const SystemClock clock;
  std::vector<HeldRecord> held = page.held(clock.now());
  if (held.empty()) return;
  // Without settings the program was never connected to a server.
  const Result<Settings> settings = read_settings(page.settings());
  if (settings.ok()) Releases(clock, settings.value(), std::move(held), keeper).run();
}

}  // namespace holdfast::guard
