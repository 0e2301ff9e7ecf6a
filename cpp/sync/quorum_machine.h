#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "base/status.h"
#include "base/types.h"
#include "sync/acquire_machine.h"

namespace holdfast::sync {

// What makes a lock of several locks.
struct QuorumRule {
  std::size_t members = 0;
  std::size_t needed = 0;  // how many of them are required
  // One member is acquired first, and then the others at once: a multi lock that meets another
  // owner there holds no member. Else all are asked at once.
  bool one_first = true;
  Duration member_time = kNever - TimePoint{};  // for a member to answer
  Duration watch_time = kNever - TimePoint{};   // to wait for one member before all are asked again

  std::size_t spare() const { return members - needed; }
};

// The acquisition of a lock made of other locks, as a machine: it reads no clock, opens no socket
// and owns no thread. Its driver feeds events and carries out each action, in order.
//
//   new ──> first ──granted──> all ──enough──> over
//    └──────────────────────────┘│
//            first <──resting <──┘ not enough: what was got is given back
//
// It waits for another holder, or where all are needed for a server that refuses to work, only
// while it holds nothing: so no two of them wait for each other, whatever order their members come
// in. After a vain round it waits for the member that was refused and takes that one first; from
// the second vain round on it rests before, for a random time that grows with each and with what a
// round takes, so that two which take from each other do not go on doing so in step.
class QuorumMachine {
 public:
  struct Options {
    QuorumRule rule;
    bool blocking = true;
    TimePoint deadline = kNever;
    Lease lease{};
    Millis unreachable_budget{5000};  // how long a quorum may be out of reach
    TimePoint patience = kNever;      // until when, where those out of reach refuse connections
    std::vector<bool> votes;  // whether a grant of this member counts: a nested hold needs an outer
    std::uint32_t seed = 1;   // of the rests
  };

  struct Event {
    enum class Kind {
      kStart,
      kAnswer,  // of `member`: `verdict`, `why`
      kTime,    // `until` of the last action has come
      kCancel,
    };
    Kind kind = Kind::kStart;
    std::size_t member = 0;
    Verdict verdict = Verdict::kGranted;
    Status why{};
    std::vector<TimePoint> trusted{};  // of kAnswer: until when each member may, if it is held
  };

  struct Action {
    enum class Verb {
      kNone,    // go on waiting for what is waited for
      kTry,     // ask for `members`: they answer without waiting for another holder
      kWait,    // ask for `members`, one: it waits for its holder, as long as the caller would
      kAgain,   // ask for `members`, which are held, once more: their leases count from now on
      kRest,    // nothing until kTime
      kFinish,  // over
    };
    Verb verb = Verb::kNone;
    std::vector<std::size_t> give_back{};  // first of all: these, granted or still to be
    std::vector<std::size_t> members{};
    TimePoint until = kNever;  // kTime then
    Verdict verdict = Verdict::kGranted;
    Status why{};
  };

  explicit QuorumMachine(Options options);

  Action resume(const Event& event, TimePoint now);

  bool over() const { return state_ == State::kOver; }

 private:
  enum class State { kNew, kFirst, kAll, kResting, kOver };
  enum class MemberState { kFree, kAsked, kGranted, kRefused, kGone, kLate, kSilent, kFailed };
  struct Member {
    MemberState state = MemberState::kFree;
    bool ours = false;  // granted, whatever became of a second question
    Status why{};

    // Asking again does not help until the configuration changes.
    bool failed_for_good() const;
    // Its server refuses to work for the moment.
    bool refuses() const;
  };

  Action start(TimePoint now);
  Action ask_first(TimePoint now);
  Action ask_others(TimePoint now);
  Action ask(Action::Verb verb, const std::vector<std::size_t>& members, TimePoint until);
  Action answered(const Event& event, TimePoint now);
  Action first_answered(TimePoint now);
  Action time(TimePoint now);
  Action round_over(TimePoint now);
  Action not_enough(TimePoint now);
  Action refused(TimePoint now);
  Duration held_in_vain(TimePoint now) const;
  Action missing(TimePoint now);
  Action out_of_order(TimePoint now);
  Action not_yet(Verdict verdict, Status why, TimePoint now);
  Action rest(TimePoint until);
  bool refusing_connections() const;
  Action finish(Verdict verdict, Status why = {});

  void note(const Event& event);
  void give_up_silent();
  std::vector<std::size_t> unanswered() const;
  std::vector<std::size_t> take_back();
  std::vector<std::size_t> those(MemberState state) const;
  std::size_t count(MemberState state) const { return those(state).size(); }
  std::vector<std::size_t> too_early(TimePoint now) const;
  bool enough(TimePoint now) const;
  bool hopeless() const;
  Status why(MemberState state) const;
  Status out_of_reach() const;
  Duration random(Duration longest);

  const Options options_;
  State state_ = State::kNew;
  std::vector<Member> members_;
  std::vector<TimePoint> trusted_;
  bool again_ = false;  // this round has asked for leases anew
  std::size_t first_ = 0;
  std::size_t vain_ = 0;              // rounds that met another holder
  TimePoint missing_since_ = kNever;  // a quorum was out of reach, or too slow for the lease
  std::minstd_rand random_;
};

}  // namespace holdfast::sync
