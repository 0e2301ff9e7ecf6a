#include "simulation/counter_history.h"

#include <algorithm>
#include <utility>

namespace holdfast::simulation {

namespace {

constexpr std::chrono::minutes kLongest{5};

}  // namespace

void CounterUser::blame(const std::string& what) {
  if (!stage_.violation) stage_.violation = Violation{describe() + ": " + what};
}

void CounterUser::expect(bool right, const std::string& otherwise) {
  if (!right) blame(otherwise);
}

void CounterUser::think(Duration most) {
  const auto self = shared_from_this();
  world().in(world().random.between({}, most), [self] { self->go_on(); });
}

void CounterUser::go_on() {
  if (over_) return;
  if (client_->closed()) return stop();
  next(rounds_--);
}

void CounterUser::start(sync::ExchangePtr operation, bool waits, bool may_cancel) {
  operation_ = std::move(operation);
  waits_ = waits;
  since_ = world().now();
  mail_.reset();
  ++id_;
  world().say(describe(), " begins");
  const auto self = shared_from_this();
  if (may_cancel && world().random.chance(stage_.cancels)) {
    const Duration most = world().random.chance(500) ? Millis(3) : Millis(300);
    world().in(world().random.between({}, most), [self, id = id_] { self->cancel(id); });
  }
  operation_->finish_to(self, id_);
}

// As a task of an event loop is cancelled: the outcome may lie in the mail already.
void CounterUser::cancel(std::uint64_t id) {
  if (id != id_ || !operation_) return;
  world().say(describe(), " is cancelled");
  ++id_;
  const auto operation = std::exchange(operation_, nullptr);
  operation->cancel();
  cancelled();
  think(Millis(2));
}

void CounterUser::done(std::uint64_t id, sync::Outcome outcome) {
  world().say(describe(), " ends ", std::to_string(static_cast<int>(outcome.verdict)), " ",
              outcome.why.message());
  if (id != id_) return;
  if (mail_) return blame("an operation ended twice");
  mail_ = std::move(outcome);
  const auto self = shared_from_this();
  const Duration most = world().random.chance(500) ? Duration{} : Duration(Millis(1));
  world().in(world().random.between({}, most), [self, id] { self->read_mail(id); });
}

void CounterUser::read_mail(std::uint64_t id) {
  if (id != id_ || !operation_) return;
  operation_.reset();
  const bool may_fail = stage_.failures || client_->closed();
  expect(may_fail || mail_->verdict != sync::Verdict::kFailed,
         "failed on a good server: " + mail_->why.message());
  ended(*mail_);
  think(Millis(2));
}

CounterHistory::CounterHistory(std::uint64_t seed, bool tracing) : History(seed, tracing) {
  server_.witness = this;
  plan_weather();
  // Requests have numbers that no process uses twice, whose length would change the packets.
  network_.weather.partial_per_mille = 0;
  if (at_least(Climate::kCancels)) cancels_ = static_cast<unsigned>(world_.random.below(400));
}

CounterHistory::~CounterHistory() { server_.witness = nullptr; }

void CounterHistory::plan_users() {
  Random& random = world_.random;
  const int rounds = 2 + static_cast<int>(random.below(8));
  for (std::uint64_t clients = 1 + random.below(3); clients > 0; --clients) {
    const std::shared_ptr<Client> client = plan_client();
    for (std::uint64_t owners = 1 + random.below(3); owners > 0; --owners) {
      users_.push_back(make_user(client, rounds));
      users_.back()->begin();
    }
  }
  before_ = value();
}

std::int64_t CounterHistory::value() {
  const std::string* text = server_.data().get<std::string>(name_.text());
  return text == nullptr ? 0 : std::stoll(*text);
}

void CounterHistory::executed(const script::Script& script, const Words& command,
                              const Answer& /*answer*/) {
  const std::size_t arguments = 3 + std::stoul(command[2]);
  if (command.size() <= arguments) return;  // it only reads
  const std::int64_t by = value() - std::exchange(before_, value());
  ++grants_;
  const std::string request = command[4] + '#' + command[arguments + 1];
  const std::int64_t memory = std::stoll(command[arguments]);
  const auto [known, fresh] = remembered_.try_emplace(request, 0);
  too_late_ = too_late_ || (!fresh && server_.milliseconds() >= known->second);
  known->second = server_.milliseconds() + memory;
  if (!too_late_) changed(script.name, request, command, by);
}

bool CounterHistory::all_over() const {
  return std::all_of(users_.begin(), users_.end(), [](const auto& user) { return user->over(); });
}

Report CounterHistory::run() {
  const TimePoint start = world_.now();
  if (go_on(start + kLongest, true)) {
    for (const auto& user : users_) {
      if (!user->over()) blame("does not end: " + user->describe());
    }
    if (rest(start, Millis(8000))) {
      check_requests();
      check_end();
    }
  }
  Report report = this->report();
  report.grants = grants_;
  return report;
}

// The answers that are kept for repeats are kept for a while.
void CounterHistory::check_requests() {
  for (const std::string& key : server_.data().keys()) {
    if (key != name_.text()) blame(key + " is left behind");
  }
}

}  // namespace holdfast::simulation
