#pragma once

#include <memory>
#include <string>
#include <vector>

#include "locks/engine/lock.h"
#include "locks/sync/quorum/fan_out_call.h"
#include "locks/sync/quorum/quorum_machine.h"

namespace holdfast::engine {

// A lock made of other locks, of one client or of several: all of them, or a majority. It has no
// state: its holds are those of its members, and its numbers are the largest that the required
// number of members reach.
class Quorum final : public Lockable,
                     public sync::Composite::Whole,
                     public std::enable_shared_from_this<Quorum> {
 public:
  using Members = std::vector<std::shared_ptr<const Lock>>;
  using Rule = sync::QuorumRule (*)(std::size_t members, Millis lease);

  // `members`: at least one, no two the same; `name`: for messages.
  // `purpose`: of its acquires that have none; null: those of its members.
  Quorum(Members members, Rule rule_for, std::string name, Purpose purpose = {});

  sync::ExchangePtr acquire(const AcquireArguments& arguments) const override;
  sync::ExchangePtr release(OwnerNumber owner, ReleaseMode how) const override;  // always awaited
  sync::ExchangePtr extend(OwnerNumber owner, Millis lease) const override;
  sync::ExchangePtr force_release(OwnerNumber by) const override;
  // 1: the free members are no quorum.
  sync::ExchangePtr locked() const override;
  sync::ExchangePtr hold_count(OwnerNumber owner) const override;
  sync::ExchangePtr ttl() const override;

  Status may_use(OwnerNumber owner) const override;
  int known_count(OwnerNumber owner) const override;
  // The levels are those of the member with the most. Lost: if all members are required, by the
  // loss of one; else by that of the quorum.
  lease::Known known(OwnerNumber owner) const override;
  std::vector<lease::Holder> known_owners() const override;
  bool foreign() const override;  // whether a member's last refusal was
  void forget_listener(OwnerNumber owner, std::uint64_t listener) const override;
  std::vector<sync::Exchange::Part> parts() const override;

 private:
  class Acquired;
  using Places = sync::FanOutCall::Places;
  using Call = std::function<sync::ExchangePtr(const Lock& member)>;

  // As QuorumMachine::Options.
  bool pipelined(OwnerNumber owner) const;
  std::string_view kind() const;               // as Traits::kind
  static constexpr Millis kUsualLease{30000};  // for calls that have none
  sync::QuorumRule rule(Millis lease = kUsualLease) const;
  sync::ExchangePtr ended(const sync::Outcome& outcome) const;  // without a member's part
  // `order`: the release of a member.
  sync::ExchangePtr release_members(const sync::HoldRelease::Order& order) const;
  // Ends what the members still have of an earlier hold of this lock, without a caller.
  void release_rest(OwnerNumber owner) const;
  std::shared_ptr<sync::FanOutCall> gather(sync::FanOutCall::Plan plan) const;
  sync::ExchangePtr call_all(Call call, sync::FanOutCall::Combine combine) const;
  std::function<sync::ExchangePtr(std::size_t member)> of_member(Call call) const;
  std::vector<int> counts(OwnerNumber owner) const;

  const Members members_;
  const Rule rule_for_;
  const LockName name_;
  const lease::WholeId id_;
  const Purpose purpose_;
  const std::shared_ptr<const std::vector<std::string>> texts_;  // as QuorumRule::texts
};

}  // namespace holdfast::engine
