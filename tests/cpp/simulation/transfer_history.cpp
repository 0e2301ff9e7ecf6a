#include "simulation/transfer_history.h"

#include <algorithm>
#include <utility>

#include "locks/sync/operation/attach_operation.h"
#include "locks/sync/operation/calls.h"
#include "locks/sync/operation/hold_release.h"
#include "locks/sync/recipes/kinds.h"
#include "support/calls.h"

namespace holdfast::simulation {

namespace {

using sync::Verdict;

constexpr std::chrono::minutes kLongest{5};
// Between the reply and its reading, and what the server's clock makes of a minimum hold time.
constexpr Millis kAround{4};

}  // namespace

class TransferHistory::Courier final : public CounterUser {
 public:
  Courier(const Stage& stage, std::shared_ptr<Client> client, int rounds, TransferHistory& history)
      : CounterUser(stage, std::move(client), rounds), history_(history) {}

  std::string describe() const override { return client_->plan().id + what_ + field(); }

  // It trusts its hold, so the server has it, under one of two fields.
  void check() {
    if (client_->closed() || client_->keeper().count(name(), owner_) == 0) return;
    const std::string other = other_field();
    for (const std::string& each : history_.owners()) {
      if (each == field() || each == other) return;
    }
    blame("trusts a hold that the server does not have");
  }

 private:
  enum class Doing { kAcquire, kAttach, kDetach, kRelease };

  const LockName& name() const { return history_.name(); }
  const sync::LockRecipe& recipe() const { return history_.recipe(); }
  std::string field() const { return owner_field(client_->plan().id, owner_); }
  // That of the ticket, once a detach was begun; else empty.
  std::string other_field() const {
    const auto detached = client_->keeper().releases.detached(name(), owner_);
    return detached ? detached->field : std::string();
  }

  Lease lease() {
    const bool renewed = world().random.chance(600);
    if (renewed) return {client_->plan().watch_lease, true};
    return {Millis(30 + static_cast<int>(world().random.below(600))), false};
  }

  void next(int round) override {
    if (holds_) {
      if (world().random.chance(300)) return think(Millis(200));
      return world().random.chance(600) ? detach() : release();
    }
    if (round <= 0) return stop();
    owner_ = next_owner_number();
    unsure_ = false;
    letter_ = world().random.chance(700) ? history_.take() : std::nullopt;
    return letter_ ? attach() : acquire();
  }

  void acquire() {
    doing_ = Doing::kAcquire;
    what_ = " acquires as ";
    sync::AcquireArguments request{owner_, lease()};
    request.blocking = !world().random.chance(150);
    request.timeout = world().random.between({}, Millis(600));
    at_least_ = Millis(world().random.chance(300) ? 5 + world().random.below(150) : 0);
    at_least_ = std::min(at_least_, request.lease.time);
    if (name().side() != Side::kWhole) at_least_ = Millis(0);
    sync::AcquireOptions options;
    options.at_least = at_least_;
    start(acquire_call(client_->context(), {synchronizer(recipe(), name(), options), request}),
          request.blocking, true);
  }

  void attach() {
    doing_ = Doing::kAttach;
    what_ = " attaches as ";
    at_least_ = Millis(0);
    letter_->sure_until = TimePoint{};
    start(std::make_shared<sync::AttachOperation>(
              client_->context(), recipe(), name(), letter_->ticket,
              sync::AttachOperation::Recipient{owner_, lease(), 0}),
          false, true);
  }

  void detach() {
    doing_ = Doing::kDetach;
    what_ = " detaches ";
    lease_ = Millis(30 + static_cast<int>(world().random.below(900)));
    auto detach = sync::detach(client_->context(), recipe(), name(), owner_, lease_);
    if (!detach) return release();  // which says why
    start(std::move(detach), false, true);
  }

  void release() {
    doing_ = Doing::kRelease;
    what_ = " releases ";
    other_ = other_field();
    start(release_call(client_->context(), synchronizer(recipe(), name()),
                       {owner_, {lease::Ending::How::kAll}}),
          false, true);
  }

  void ended(const sync::Outcome& outcome) override {
    expect(outcome.verdict != Verdict::kGone || !outcome.why.message().empty(),
           "a loss has no reason");
    switch (doing_) {
      case Doing::kAcquire:
        return acquired(outcome.verdict);
      case Doing::kAttach:
        return attached(outcome.verdict);
      case Doing::kDetach:
        return detached(outcome.verdict);
      case Doing::kRelease:
        return released(outcome.verdict);
    }
  }

  void cancelled() override {
    if (doing_ == Doing::kDetach) unsure_ = true;
    if (doing_ == Doing::kAttach) history_.post(*std::exchange(letter_, std::nullopt));
    if (doing_ == Doing::kRelease) holds_ = false;
  }

  void acquired(Verdict verdict) {
    holds_ = verdict == Verdict::kGranted;
    granted_ = world().now();
    if (holds_) history_.acquired();
  }

  void attached(Verdict verdict) {
    holds_ = verdict == Verdict::kGranted;
    if (holds_) history_.attached(letter_->ticket);
    if (verdict == Verdict::kFailed) history_.post(*letter_);
    letter_.reset();
  }

  void detached(Verdict verdict) {
    lease::Keeper& keeper = client_->keeper();
    const auto detached = keeper.releases.detached(name(), owner_);
    const bool done =
        verdict == Verdict::kGranted && detached && keeper.releases.end_detach(name(), owner_);
    if (done) {
      const auto kind = std::string(recipe().traits.ticket);
      const Millis sure = lease_ * 98 / 100 - Millis(2);
      history_.post({{kind, detached->field, {}, detached->lease, detached->minimum, name().text()},
                     after(since_, sure)});
    }
    expect(!done || keeper.count(name(), owner_) == 0, "trusts what it has detached");
    if (done) holds_ = false;
  }

  void released(Verdict verdict) {
    holds_ = false;
    expect(verdict != Verdict::kBusy || unsure_ || client_->closed(), "its release finds nothing");
    if (verdict != Verdict::kGranted) return;
    for (const std::string& each : history_.owners()) {
      expect(each != field() && (other_.empty() || each != other_), "has released what is there");
    }
    if (at_least_ > Millis(0)) {
      history_.stays_closed(after(granted_, at_least_ * 99 / 100) - kAround);
    }
  }

  TransferHistory& history_;
  Doing doing_ = Doing::kAcquire;
  const char* what_ = " is ";
  OwnerNumber owner_{0};
  bool holds_ = false;   // as far as it knows
  bool unsure_ = false;  // it has not read that its hold is lost, perhaps
  std::string other_;    // the hold's second field when its release began
  std::optional<Letter> letter_;
  Millis lease_{0};
  Millis at_least_{0};
  TimePoint granted_{};
};

TransferHistory::TransferHistory(std::uint64_t seed, bool tracing)
    : History(seed, tracing),
      name_("relay", world_.random.chance(700) ? Side::kWhole : Side::kWrite),
      recipe_(name_.side() == Side::kWhole ? &sync::lock_recipe() : &sync::write_lock_recipe()) {
  plan_weather();
  // The fields of tickets are drawn outside of the world, and their length would change packets.
  network_.weather.partial_per_mille = 0;
  CounterUser::Stage stage{world_, violation_, name_, 0, at_least(Climate::kCuts)};
  if (at_least(Climate::kCancels)) stage.cancels = static_cast<unsigned>(world_.random.below(300));
  const int rounds = 2 + static_cast<int>(world_.random.below(6));
  for (std::uint64_t clients = 1 + world_.random.below(3); clients > 0; --clients) {
    const std::shared_ptr<Client> client = plan_client();
    for (std::uint64_t owners = 1 + world_.random.below(3); owners > 0; --owners) {
      couriers_.push_back(std::make_shared<Courier>(stage, client, rounds, *this));
      couriers_.back()->begin();
    }
  }
  plan_faults();
}

TransferHistory::~TransferHistory() { shut_down(); }

std::optional<TransferHistory::Letter> TransferHistory::take() {
  if (letters_.empty()) return std::nullopt;
  const std::size_t place = world_.random.below(letters_.size());
  Letter letter = std::move(letters_[place]);
  letters_.erase(letters_.begin() + static_cast<std::ptrdiff_t>(place));
  return letter;
}

void TransferHistory::attached(const sync::Ticket& ticket) {
  ++grants_;
  if (++attached_[ticket.field] > 1) blame("two have the hold of the ticket " + ticket.field);
}

std::vector<std::string> TransferHistory::owners() {
  std::vector<std::string> fields;
  const Hash* hash = server_.data().get<Hash>(name_.text());
  if (hash == nullptr) return fields;
  const std::string suffix = name_.side() == Side::kWrite ? ":write" : "";
  for (const auto& [field, count] : *hash) {
    if (field != "mode") fields.push_back(field.substr(0, field.size() - suffix.size()));
  }
  return fields;
}

bool TransferHistory::all_over() const {
  return std::all_of(couriers_.begin(), couriers_.end(),
                     [](const auto& each) { return each->over(); });
}

void TransferHistory::check() {
  const std::vector<std::string> there = owners();
  if (there.size() > 1) blame("the lock has two owners: " + there[0] + ", " + there[1]);
  for (const auto& courier : couriers_) courier->check();
  if (!there.empty()) return;
  for (const Letter& letter : letters_) {
    if (letter.sure_until == kNever || world_.now() >= letter.sure_until) continue;
    blame("the lock is free before any owner has attached " + letter.ticket.field);
  }
  if (world_.now() < closed_until_) blame("the lock is free before its minimum hold time is over");
}

Report TransferHistory::run() {
  const TimePoint start = world_.now();
  if (go_on(start + kLongest, true)) {
    for (const auto& courier : couriers_) {
      if (!courier->over()) blame("does not end: " + courier->describe());
    }
    if (rest(start, Millis(8000))) {
      for (const std::string& key : server_.data().keys()) blame(key + " is left behind");
    }
  }
  Report report = this->report();
  report.grants = grants_;
  return report;
}

}  // namespace holdfast::simulation
