#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "locks/sync/operation/acquire_machine.h"

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

inline std::string text(Verb verb) {
  constexpr std::array<const char*, 11> kVerbs{"go on",   "try",       "probe",  "send",
                                               "confirm", "keep",      "join",   "sleep",
                                               "finish",  "give back", "forward"};
  return kVerbs.at(static_cast<std::size_t>(verb));
}

inline std::string text(const AcquireMachine::Action& action) {
  if (action.verb != Verb::kFinish) {
    return (action.give_back ? "give back, " : "") + text(action.verb) + text(action.until);
  }
  const std::string why = action.why.ok() ? "" : ": " + action.why.message();
  return text(action.verdict) + (action.give_back ? ", give back" : "") + why;
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

// A machine at a moment, in milliseconds; what it wants done reads as text. An attempt is begun at
// once, as `begun` says, and a grant is recorded at once, unless the client is being closed.
class AcquireMachineTest : public ::testing::Test {
 protected:
  void begin(const AcquireMachine::Options& options) { machine_.emplace(options); }

  // None is ahead.
  std::string start() { return ahead(TimePoint{}); }
  std::string queue_up() { return feed({Kind::kAhead}); }
  std::string ahead(TimePoint until, bool release_in_flight = false, int holds = 0) {
    AcquireMachine::Event event{Kind::kAhead, {}, until};
    event.release_in_flight = release_in_flight;
    event.count = holds;
    return feed(event);
  }
  std::string head(bool release_in_flight = false) {
    AcquireMachine::Event event{Kind::kHead};
    event.release_in_flight = release_in_flight;
    return feed(event);
  }
  std::string granted(int trusted_until) {
    return feed({Kind::kAnswer, {Answer::Kind::kGranted, {}}, at(trusted_until)});
  }
  std::string held(int ttl) {
    return feed({Kind::kAnswer, {Answer::Kind::kHeld, Millis(ttl)}, kNever});
  }
  std::string held_with_free(std::int64_t permits) {
    return feed({Kind::kAnswer, {Answer::Kind::kHeld, Millis(-1), permits}, kNever});
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
  std::string offer(bool takes_over = false) {
    AcquireMachine::Event event{Kind::kOffer};
    event.takes_over = takes_over;
    return feed(event);
  }
  std::string offer_in_vain() {
    return feed({Kind::kAnswer, {Answer::Kind::kHeld, Millis(0)}, kNever, {}, true});
  }
  std::string offer_granted() {
    return feed({Kind::kAnswer, {Answer::Kind::kGranted, {}}, at(1000), {}, true});
  }
  std::string ask_failed() {
    return feed(Event::of(Kind::kAskFailed, Status::unreachable("no server")));
  }
  std::string time() { return feed({Kind::kTime}); }
  std::string time(const char* why) {
    return feed(Event::of(Kind::kTime, Status::unreachable(why)));
  }
  std::string cancel() { return feed({Kind::kCancel}); }

  AcquireMachine& machine() { return *machine_; }
  const AcquireMachine::Action& last() const { return last_; }
  int now = 0;
  bool closing = false;
  AcquireMachine::Event begun = first_hold();

  // As it is: what the machine says is not carried out.
  std::string resume(const AcquireMachine::Event& event) {
    last_ = machine_->resume(event, at(now));
    return text(last_);
  }

 private:
  using Event = AcquireMachine::Event;

  std::string feed(const AcquireMachine::Event& event) {
    const std::string wanted = resume(event);
    if (last_.verb == Verb::kKeep) return resume(kept());
    if (last_.verb != Verb::kTry) return wanted;
    const std::string next = resume(begun);
    return last_.verb == Verb::kSend ? wanted : next;
  }
  static Event first_hold() {
    Event event{Kind::kBegun};
    event.count = 1;
    event.probed = true;
    return event;
  }
  AcquireMachine::Event kept() const {
    if (!closing) return {Kind::kKept};
    return {Kind::kFailed, {}, kNever, Status::closed("closed"), true};
  }

  std::optional<AcquireMachine> machine_{AcquireMachine::Options{}};
  AcquireMachine::Action last_;
};

}  // namespace holdfast::sync
