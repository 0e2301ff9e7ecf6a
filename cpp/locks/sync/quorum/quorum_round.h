#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "locks/base/types.h"
#include "locks/sync/operation/acquire_machine.h"
#include "redis/base/status.h"

namespace holdfast::sync {

// The parameters of a lock made of several locks.
struct QuorumRule {
  std::size_t members = 0;
  std::size_t needed = 0;  // how many of them are required
  // One member is acquired first, and then the others at once: a multi lock that is refused at the
  // first member holds no other. Else all are tried at once, as they are in the first round where
  // one connection has them all (Options::pipelined).
  bool one_first = true;
  Duration member_time = kNever - TimePoint{};  // for a member to answer
  Duration watch_time = kNever - TimePoint{};   // to wait for one member before all are tried again

  // The name and server of each member, for messages; null: its number says which it is.
  std::shared_ptr<const std::vector<std::string>> texts{};

  std::size_t spare() const { return members - needed; }
  std::string text(std::size_t member) const;
  // The member's title in a reason of the whole, which the member's reason follows.
  std::string title(std::size_t member) const {
    return (texts ? "its member " : "its ") + text(member);
  }
};

// All of the members, which may be on one server or on several, or none.
QuorumRule multi_lock_rule(std::size_t members, Millis lease);
// A majority of members on independent servers (the Redlock algorithm). A member has a small part
// of the lease to answer in, so that servers that hang cost little of what is granted.
QuorumRule red_lock_rule(std::size_t members, Millis lease);

// The answers of the members of a lock made of locks in one round of its acquisition, and what
// they are still to be asked. A machine without I/O and without a clock.
class QuorumRound {
 public:
  enum class State { kFree, kRequested, kGranted, kRefused, kGone, kLate, kSilent, kFailed };
  using Places = std::vector<std::size_t>;

  // `votes`: as of QuorumMachine::Options. Both outlive it.
  QuorumRound(const QuorumRule& rule, const std::vector<bool>& votes);

  // These members are called; the one in `place` has answered so. `trusted`: the end of each
  // member's validity; empty: as before.
  void call(const Places& members);
  void answered(std::size_t place, Verdict verdict, const Status& why,
                std::vector<TimePoint> trusted);
  // A majority does not wait for the members that have not answered in their time.
  void give_up_silent();
  // The next round is to begin: the members that may have granted this one.
  Places take_back();
  void forget(std::size_t member) { members_[member] = {}; }

  State state(std::size_t member) const { return members_[member].state; }
  const Status& why(std::size_t member) const { return members_[member].why; }
  TimePoint trusted(std::size_t member) const { return trusted_[member]; }
  Places those(State state) const;
  std::size_t count(State state) const;
  // The grants that count are a quorum.
  bool enough(TimePoint now) const;

  // How the acquisition ends where no further round may help; nothing: one may.
  std::optional<Outcome> hopeless() const;
  // The error of a majority that refuses to work for the moment; OK: it does not.
  Status temporary_failure() const;

  Status out_of_reach() const;
  bool refusing_connections() const;

 private:
  struct Member {
    State state = State::kFree;
    bool ours = false;  // granted, regardless of a later attempt
    Status why{};

    // Its server refuses to work for the moment.
    bool refuses() const;
  };

  // The first of those members' reason, if they are too many for the others to be enough.
  template <typename Fits>
  Status why_too_many(const Fits& fits) const;

  const QuorumRule& rule_;
  const std::vector<bool>& outer_votes_;
  std::vector<bool> votes_;  // without members that lost the outer hold since
  Status gone_;              // why the last of those did
  std::vector<Member> members_;
  std::vector<TimePoint> trusted_;
};

}  // namespace holdfast::sync
