#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "locks/base/types.h"
#include "locks/sync/quorum/quorum_round.h"
#include "redis/base/status.h"

namespace holdfast::sync {

// The acquisition of a lock made of other locks, as a machine: it reads no clock, opens no socket
// and owns no thread. Its driver feeds events and carries out each action, in order.
//
//   new ──> first ──granted──> all ──enough──> over
//    └─────────────────────────┘ │
//            first <──backing off <──┘ not enough: all are given back
// It waits for another owner, or (if all members are required) for a server that refuses to work,
// only while it holds no member: so no two of them wait for each other, in any order of their
// members. After a failed round it waits for the refused member and acquires that one first. From
// the second failed round on it backs off before that, for a random time that grows with the number
// of rounds and their duration, so that two of them do not keep taking members from each other in
// step.
class QuorumMachine {
 public:
  struct Options {
    QuorumRule rule;
    bool blocking = true;
    bool pipelined = false;  // one connection has the commands of all members, in their order
    TimePoint deadline = kNever;
    Lease lease{};
    Millis unreachable_budget{5000};      // how long a quorum may be out of reach
    TimePoint connect_deadline = kNever;  // how long, if servers refuse connections
    TimePoint latest = kNever;            // the end in any case (CallersTime)
    std::vector<bool> votes;  // whether a grant of this member counts: a nested hold needs an outer
    std::uint32_t seed = 1;   // the back-offs'
  };

  struct Input {
    enum class Kind {
      kStart,
      kAnswer,  // `member` has answered: `verdict`, `why`
      kTime,    // `until` of the last action has come
      kCancel,
    };
    Kind kind = Kind::kStart;
    std::size_t member = 0;
    Verdict verdict = Verdict::kGranted;
    Status why{};
    std::vector<TimePoint> trusted{};  // kAnswer: the end of each member's validity, if held;
                                       // empty where all are required and others have to answer
  };

  struct Action {
    enum class Verb {
      kNone,     // go on waiting
      kTry,      // acquire `members`, without waiting for another owner
      kWait,     // acquire `members` (one), waiting for its owner, as long as the caller waits
      kAgain,    // set the leases of `members`, which are held, again
      kBackOff,  // do nothing until kTime
      kFinish,   // over
    };
    Verb verb = Verb::kNone;
    std::vector<std::size_t> give_back{};  // first: release these, granted or with an open attempt
    std::vector<std::size_t> members{};
    TimePoint until = kNever;  // kTime then
    Verdict verdict = Verdict::kGranted;
    Status why{};
  };

  explicit QuorumMachine(Options options);
  QuorumMachine(const QuorumMachine&) = delete;
  QuorumMachine& operator=(const QuorumMachine&) = delete;

  Action resume(Input input, TimePoint now);

  bool over() const { return state_ == State::kOver; }

 private:
  enum class State { kNew, kFirst, kAll, kBackingOff, kOver };
  using MemberState = QuorumRound::State;

  Action start(TimePoint now);
  Action call_first(TimePoint now);
  Action call_others(TimePoint now);
  Action call(Action::Verb verb, std::vector<std::size_t> members, TimePoint until);
  Action answered(Input input, TimePoint now);
  Action time(TimePoint now);
  Action round_over(TimePoint now);
  Action not_enough(TimePoint now);
  Action refused(TimePoint now);
  Action missing(TimePoint now);
  Action out_of_order(TimePoint now);
  Action not_yet(Verdict verdict, Status why, TimePoint now);
  Action back_off(TimePoint until);
  TimePoint last_round() const;
  Action finish(Verdict verdict, Status why = {});

  Duration random(Duration longest);

  const Options options_;
  State state_ = State::kNew;
  QuorumRound members_;
  bool again_ = false;  // this round has set leases again
  std::size_t first_ = 0;
  std::size_t failed_rounds_ = 0;     // rounds that another owner refused
  TimePoint missing_since_ = kNever;  // a quorum was out of reach, or too slow for the lease
  std::minstd_rand random_;
};

}  // namespace holdfast::sync
