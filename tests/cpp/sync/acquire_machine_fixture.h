#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "sync/acquire_machine.h"

namespace holdfast::sync {
using Kind = AcquireMachine::Event::Kind;
using Verb = AcquireMachine::Action::Verb;

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
    case Verdict::kExpired:
      return "expired";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kCancelled:
      return "cancelled";
  }
  return "?";
}

inline std::string text(const AcquireMachine::Action& action) {
  switch (action.verb) {
    case Verb::kNone:
      return "go on";
    case Verb::kTry:
      return "try" + text(action.until);
    case Verb::kConfirm:
      return "confirm";
    case Verb::kJoin:
      return "join" + text(action.until);
    case Verb::kSleep:
      return (action.give_back ? "give back, sleep" : "sleep") + text(action.until);
    case Verb::kFinish:
      break;
  }
  const std::string why = action.why.ok() ? "" : ": " + action.why.message();
  return text(action.verdict) + (action.give_back ? ", give back" : "") + why;
}

// A machine at a moment, in milliseconds; what it wants done reads as text.
class AcquireMachineTest : public ::testing::Test {
 protected:
  void begin(const AcquireMachine::Options& options) { machine_.emplace(options); }

  std::string start() { return feed({Kind::kStart}); }
  std::string queue_up() { return feed({Kind::kQueueUp}); }
  std::string granted(int trusted_until) {
    return feed({Kind::kAnswer, {Answer::Kind::kGranted, {}}, at(trusted_until)});
  }
  std::string held(int ttl) {
    return feed({Kind::kAnswer, {Answer::Kind::kHeld, Millis(ttl)}, kNever});
  }
  std::string gone() { return feed({Kind::kAnswer, {Answer::Kind::kGone, {}}, kNever}); }
  std::string refused(bool unknown = false) {
    return feed({Kind::kRefused, {}, kNever, Status::server("LOADING", "loading"), unknown});
  }
  std::string failed(bool unknown) {
    return feed({Kind::kFailed, {}, kNever, Status::unreachable("no server"), unknown});
  }
  std::string forgotten() { return feed({Kind::kForgotten}); }
  std::string confirmed() { return feed({Kind::kConfirmed}); }
  std::string unconfirmed() {
    return feed({Kind::kUnconfirmed, {}, kNever, Status::server("NOREPLICAS", "too few")});
  }
  std::string signal() { return feed({Kind::kTryNow}); }
  std::string turn(int held_until) { return feed({Kind::kTurn, {}, at(held_until)}); }
  std::string offer() { return feed({Kind::kOffer}); }
  std::string time() { return feed({Kind::kTime}); }
  std::string cancel() { return feed({Kind::kCancel}); }

  AcquireMachine& machine() { return *machine_; }
  int now = 0;

 private:
  std::string feed(const AcquireMachine::Event& event) {
    return text(machine_->resume(event, at(now)));
  }

  std::optional<AcquireMachine> machine_{AcquireMachine::Options{}};
};

}  // namespace holdfast::sync
