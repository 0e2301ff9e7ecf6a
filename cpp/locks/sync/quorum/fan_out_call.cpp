#include "locks/sync/quorum/fan_out_call.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <utility>

namespace holdfast::sync {

FanOutCall::FanOutCall(std::shared_ptr<const Context> context, LockName name, Plan plan)
    : Composite(std::move(context), std::move(name), plan.rule.members, plan.role),
      plan_(std::move(plan)),
      answers_(plan_.rule.members) {
  begun_.reserve(plan_.members.size());
}

void FanOutCall::handle(const Input& input) {
  if (finished()) return;
  switch (input.kind) {
    case Input::Kind::kStart:
      end_ = after(now(), context().command_timeout);
      run(plan_.members);
      return go_further();
    case Input::Kind::kMember:
      answers_[input.member] = input.outcome;
      --missing_;
      return go_further();
    case Input::Kind::kTime:
      leave_missing();
      return go_further();
    case Input::Kind::kCancel:
      if (!begun_.empty()) run_next();
      // One that is not sent any more ends with its last reference, and reports to this until then.
      for (const Begun& each : std::exchange(begun_, {})) each.operation->cancel();
      return finish({Verdict::kCancelled});
  }
}

void FanOutCall::run(const Places& members) {
  for (const std::size_t member : members) {
    begun_.push_back({member, plan_.call(member)});
    ++missing_;
    call(member, begun_.back().operation);
  }
}

void FanOutCall::run_next() {
  if (const Next next = std::exchange(plan_.next, nullptr)) run(next(answers_));
}

// Their later answers are no part of the outcome.
void FanOutCall::leave_missing() {
  for (const Begun& each : begun_) {
    if (!answers_[each.member]) forget(each.member);
  }
  missing_ = 0;
}

void FanOutCall::go_further() {
  if (missing_ == 0 && plan_.next) {
    run_next();
    last_step_ = true;
    limited_ = false;
    if (now() >= end_) leave_missing();
  }
  if (missing_ == 0) {
    begun_.clear();  // the operation of a member that hangs has a reference to this
    return finish(plan_.combine(answers_));
  }
  if (missing_ > plan_.rule.spare()) {
    if (last_step_) wake_at(end_);
    return;
  }
  if (std::exchange(limited_, true)) return;
  const TimePoint until = after(now(), plan_.rule.member_time);
  wake_at(last_step_ ? std::min(until, end_) : until);
}

namespace {

struct Failures {
  std::size_t count = 0;
  Status first{};
};

// A member that did not answer in time is out of reach, too.
Failures failures(const QuorumRule& rule, const Answers& answers, bool absent_too) {
  Failures all;
  std::string absent;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::optional<Outcome>& answer = answers[i];
    if (answer ? answer->verdict != Verdict::kFailed : !absent_too) continue;
    if (all.first.ok() && answer) all.first = answer->why;
    if (!answer) absent += (absent.empty() ? "" : ", ") + rule.text(i);
    ++all.count;
  }
  if (all.count > 0 && all.first.ok()) {
    all.first = Status::unreachable(absent + ": no answer in time; see whether its server is up");
  }
  return all;
}

std::optional<Outcome> too_many_failed(const QuorumRule& rule, const Answers& answers) {
  const Failures failed = failures(rule, answers, true);
  if (failed.count <= rule.spare()) return std::nullopt;
  return Outcome{Verdict::kFailed, failed.first};
}

std::size_t count(const Answers& answers, Verdict verdict) {
  return static_cast<std::size_t>(std::count_if(
      answers.begin(), answers.end(),
      [verdict](const std::optional<Outcome>& each) { return each && each->verdict == verdict; }));
}

constexpr std::int64_t kNotHeld = -2;
constexpr std::int64_t kNoLimit = -1;
constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max();

}  // namespace

Outcome common_number(const QuorumRule& rule, const Answers& answers, std::int64_t none) {
  if (std::optional<Outcome> failed = too_many_failed(rule, answers)) return *failed;
  std::vector<std::int64_t> numbers;
  for (const std::optional<Outcome>& answer : answers) {
    const bool has = answer && answer->verdict == Verdict::kGranted && answer->value;
    const std::int64_t number = has ? *answer->value : none;
    numbers.push_back(number == kNoLimit ? kEndless : number);
  }
  std::sort(numbers.begin(), numbers.end(), std::greater<>());
  return {Verdict::kGranted, {}, numbers[rule.needed - 1]};
}

Outcome common_ttl(const QuorumRule& rule, const Answers& answers) {
  Outcome outcome = common_number(rule, answers, kNotHeld);
  if (outcome.value == kEndless) outcome.value = kNoLimit;
  return outcome;
}

Outcome common_yes(const QuorumRule& rule, std::size_t needed, const Answers& answers) {
  if (std::optional<Outcome> failed = too_many_failed(rule, answers)) return *failed;
  const auto yes =
      std::count_if(answers.begin(), answers.end(), [](const std::optional<Outcome>& each) {
        return each && each->verdict == Verdict::kGranted && each->value.value_or(0) > 0;
      });
  return {Verdict::kGranted, {}, static_cast<std::size_t>(yes) >= needed ? 1 : 0};
}

Outcome common_release(const QuorumRule& rule, const Answers& answers) {
  const Failures failed = failures(rule, answers, false);
  const std::size_t done = count(answers, Verdict::kGranted);
  const std::size_t gone = count(answers, Verdict::kGone);
  if (done + gone + failed.count == 0) return {Verdict::kBusy};
  if (gone > 0 && done + failed.count < rule.needed) {
    std::string reasons;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const std::optional<Outcome>& answer = answers[i];
      const bool has_reason =
          answer && !answer->why.ok() &&
          (answer->verdict == Verdict::kGone || answer->verdict == Verdict::kFailed);
      if (!has_reason) continue;
      reasons += (reasons.empty() ? "" : "; ") + rule.title(i) + ": " + answer->why.message();
    }
    return {Verdict::kGone, Status::invalid(reasons)};
  }
  if (failed.count > rule.spare()) return {Verdict::kFailed, failed.first};
  return {};
}

}  // namespace holdfast::sync
