#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "locks/sync/operation/acquire_machine.h"
#include "locks/sync/operation/replica_acknowledger.h"

namespace holdfast::sync {

inline constexpr TimePoint kZero{std::chrono::hours(1)};

inline TimePoint at(int milliseconds) { return kZero + Millis(milliseconds); }

inline std::string text(TimePoint when) {
  if (when == kNever) return "";
  return " until " + std::to_string(std::chrono::duration_cast<Millis>(when - kZero).count());
}

inline std::string text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGranted:
      return "granted";
    case Verdict::kBusy:
      return "busy";
    case Verdict::kTimedOut:
      return "timed out";
    case Verdict::kGone:
      return "gone";
    case Verdict::kObjected:
      return "objected";
    case Verdict::kExpired:
      return "expired";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kCancelled:
      return "cancelled";
  }
  return "?";
}

inline std::string text(const std::optional<wait::LeaveReason>& reason) {
  if (!reason) return "it stays";
  switch (*reason) {
    case wait::LeaveReason::kGranted:
      return "granted";
    case wait::LeaveReason::kGaveUp:
      return "gave up";
    case wait::LeaveReason::kTrying:
      return "trying";
  }
  return "?";
}

// Records what the machine does while it handles an event, also as a text. An attempt is begun at
// once, as `begun` says; it joins the queue in `place`; and a grant is recorded, unless the client
// is being closed.
class RecordingDriver final : public AcquireMachine::Driver {
 public:
  struct Done {
    std::string text;
    TimePoint until = kNever;  // of a sleep, and of an end
    Verdict verdict = Verdict::kGranted;
    int count = 0;
    std::optional<int> take_back{};
    std::optional<std::int64_t> value{};
    std::optional<wait::LeaveReason> leave{};
    TimePoint connect_deadline = kNever;
    TimePoint sent{};
    bool anew = false;
    bool afresh = false;
    bool settled = false;
    std::optional<Answer> reported{};
  };

  AcquireMachine::Begun begun{1, false, true};
  AcquireMachine::Place place{};
  bool closing = false;
  Done done;

 private:
  Result<AcquireMachine::Begun> begin_attempt(TimePoint until) override {
    say("try" + text(until));
    return begun;
  }
  // An attempt that is begun is sent, too.
  Status send(int count, TimePoint connect_deadline) override {
    if (done.text.empty()) say("send");
    done.count = count;
    done.connect_deadline = connect_deadline;
    return {};
  }
  Status probe() override {
    say("probe");
    return {};
  }
  Status confirm() override {
    say("confirm");
    return {};
  }
  Status keep(const AcquireMachine::Response& grant, int count) override {
    done.count = count;
    done.sent = grant.sent;
    if (closing) return Status::closed("closed");
    return {};
  }
  Result<AcquireMachine::Place> join(bool afresh) override {
    say("join");
    done.afresh = afresh;
    return place;
  }
  // It joins until the end of its first sleep.
  void sleep_until(TimePoint until) override {
    if (done.text == "join") {
      done.text += text(until);
    } else {
      say("sleep" + text(until));
    }
    done.until = until;
  }
  void take_back(int remaining, bool anew) override {
    say("give back");
    done.take_back = remaining;
    done.anew = anew;
  }
  void settled() override { done.settled = true; }
  void report(const Answer& refusal) override { done.reported = refusal; }
  void finish(Outcome outcome, const AcquireMachine::Rest& rest) override {
    const std::string why = outcome.why.ok() ? "" : ": " + outcome.why.message();
    say(text(outcome.verdict) + (rest.take_back ? ", give back" : "") + why);
    done.verdict = outcome.verdict;
    done.value = outcome.value;
    done.take_back = rest.take_back;
    done.leave = rest.leave;
    done.until = rest.retry_at;
  }
  void give_back() override { say("give back"); }
  void pass_on() override { say("forward"); }

  void say(const std::string& what) { done.text += (done.text.empty() ? "" : ", ") + what; }
};

// A machine at a moment, in milliseconds; what it does at an event reads as text.
class AcquireMachineTest : public ::testing::Test {
 protected:
  using Response = AcquireMachine::Response;

  void begin(const AcquireMachine::Options& options) { machine_.emplace(options, driver); }

  // None is ahead.
  std::string start() { return ahead(TimePoint{}); }
  std::string queue_up() { return ahead(kNever); }
  std::string ahead(TimePoint until, bool release_in_flight = false, bool nested = false) {
    return notify(&AcquireMachine::start, AcquireMachine::Ahead{until, release_in_flight, nested});
  }
  std::string answered(const Response& response) {
    return notify(&AcquireMachine::answered, response);
  }
  std::string granted(int trusted_until) {
    return answered({{Answer::Kind::kGranted, {}}, at(trusted_until)});
  }
  std::string held(int ttl) { return answered({{Answer::Kind::kHeld, Millis(ttl)}}); }
  std::string gone() { return answered({{Answer::Kind::kGone, {}}}); }
  std::string refused(bool unknown = false) {
    return notify(&AcquireMachine::refused, Status::server("LOADING", "loading"), unknown);
  }
  std::string failed(bool unknown) {
    return notify(&AcquireMachine::failed, Status::unreachable("no server"), unknown);
  }
  std::string forgotten() { return acknowledged({Acknowledgement::Kind::kGone}); }
  std::string confirmed() { return acknowledged({}); }
  std::string unconfirmed() {
    return acknowledged({Acknowledgement::Kind::kRefused, Status::server("NOREPLICAS", "too few")});
  }
  std::string ask_failed() {
    return acknowledged({Acknowledgement::Kind::kFailed, Status::unreachable("no server")});
  }
  std::string signal() { return notify(&AcquireMachine::signal); }
  std::string turn(int held_until) { return notify(&AcquireMachine::turn, at(held_until)); }
  std::string offer(bool takes_over = false) {
    driver.done = {};
    machine().offer(takes_over);
    return said();
  }
  std::string offer_in_vain() {
    return answered({{Answer::Kind::kHeld, Millis(0)}, kNever, {}, 0, true});
  }
  std::string offer_granted() {
    return answered({{Answer::Kind::kGranted, {}}, at(1000), {}, 0, true});
  }
  std::string time(const Status& late = {}) { return notify(&AcquireMachine::time_is_up, late); }
  std::string cancel() { return notify(&AcquireMachine::cancel); }

  AcquireMachine& machine() { return *machine_; }
  const RecordingDriver::Done& last() const { return driver.done; }
  int now = 0;
  RecordingDriver driver;

 private:
  template <typename... Takes, typename... Arguments>
  std::string notify(void (AcquireMachine::*event)(TimePoint, Takes...), Arguments&&... arguments) {
    driver.done = {};
    (machine().*event)(at(now), std::forward<Arguments>(arguments)...);
    return said();
  }
  std::string acknowledged(const Acknowledgement& outcome) {
    return notify(&AcquireMachine::acknowledged, outcome);
  }
  std::string said() const { return last().text.empty() ? "go on" : last().text; }

  std::optional<AcquireMachine> machine_{std::in_place, AcquireMachine::Options{}, driver};
};

}  // namespace holdfast::sync
