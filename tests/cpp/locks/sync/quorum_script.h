#pragma once

#include <string>
#include <utility>
#include <vector>

#include "locks/sync/quorum/quorum_machine.h"
#include "locks/sync/quorum/quorum_round.h"

// A QuorumMachine for tests, whose actions read as text.
namespace holdfast::sync {

using Kind = QuorumMachine::Input::Kind;
using Verb = QuorumMachine::Action::Verb;

constexpr TimePoint kZero{std::chrono::hours(1)};
constexpr Millis kLease{10000};

inline TimePoint at(int milliseconds) { return kZero + Millis(milliseconds); }

inline std::string text(const std::vector<std::size_t>& members) {
  std::string all;
  for (const std::size_t member : members) all += " " + std::to_string(member);
  return all;
}

inline std::string text(Verdict verdict) {
  const std::vector<std::string> words{"granted",  "busy",    "timed out", "gone",
                                       "objected", "expired", "failed",    "cancelled"};
  return words[static_cast<std::size_t>(verdict)];
}

inline std::string text(const QuorumMachine::Action& action) {
  const std::vector<std::string> verbs{"go on", "try", "wait for", "again", "back off"};
  const std::string back =
      action.give_back.empty() ? "" : "give back" + text(action.give_back) + ", ";
  if (action.verb != Verb::kFinish) {
    return back + verbs[static_cast<std::size_t>(action.verb)] + text(action.members);
  }
  const std::string why = action.why.ok() ? "" : ": " + action.why.message();
  return back + text(action.verdict) + why;
}

// A machine at a moment, in milliseconds; what it wants done reads as text.
class Script {
 public:
  explicit Script(QuorumMachine::Options options)
      : trusted_(options.rule.members, TimePoint{}), machine_(std::move(options)) {}

  std::string start() { return resume({Kind::kStart}); }
  std::string grant(std::size_t member, int trusted_for = 9000) {
    trusted_[member] = now_ + Millis(trusted_for);
    return answer(member, Verdict::kGranted);
  }
  std::string refuse(std::size_t member) { return answer(member, Verdict::kBusy); }
  std::string fail(std::size_t member) {
    return answer(member, Verdict::kFailed, Status::unreachable("no server"));
  }
  std::string answer(std::size_t member, Verdict verdict, Status why = {}) {
    return resume({Kind::kAnswer, member, verdict, std::move(why), trusted_});
  }
  std::string time() {
    now_ = until_;
    return resume({Kind::kTime});
  }
  std::string cancel() { return resume({Kind::kCancel}); }
  void pass(int milliseconds) { now_ += Millis(milliseconds); }
  TimePoint now() const { return now_; }
  Millis left() const { return std::chrono::duration_cast<Millis>(until_ - now_); }

 private:
  std::string resume(const QuorumMachine::Input& input) {
    const QuorumMachine::Action action = machine_.resume(input, now_);
    if (action.verb != Verb::kNone) until_ = action.until;
    return text(action);
  }

  TimePoint now_ = kZero;
  TimePoint until_ = kNever;
  std::vector<TimePoint> trusted_;
  QuorumMachine machine_;
};

inline QuorumMachine::Options all_of(std::size_t members, bool renewed = true) {
  QuorumMachine::Options options;
  options.rule = multi_lock_rule(members, kLease);
  options.lease = {kLease, renewed};
  options.votes.assign(members, true);
  return options;
}

inline QuorumMachine::Options pipelined(QuorumMachine::Options options) {
  options.pipelined = true;
  return options;
}

inline QuorumMachine::Options majority_of(std::size_t members) {
  QuorumMachine::Options options = all_of(members);
  options.rule = red_lock_rule(members, kLease);
  return options;
}

inline QuorumMachine::Options trying(QuorumMachine::Options options) {
  options.blocking = false;
  return options;
}

// What a member says whose server refuses to work.
inline std::string refuse_to_work(Script& script, std::size_t member,
                                  Verdict verdict = Verdict::kFailed) {
  return script.answer(member, verdict, Status::server("LOADING", "loading"));
}

}  // namespace holdfast::sync
