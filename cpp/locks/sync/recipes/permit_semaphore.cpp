#include "locks/sync/recipes/permit_semaphore.h"

#include "lua_scripts.h"

namespace holdfast::sync {

namespace {

namespace lua = script::lua;
using P = Part;

constexpr Row release_row(Part permits) {
  return {lua::permit_semaphore_release,
          {P::kName, P::kPermitTimeouts, P::kSemaphoreChannel, permits, P::kPublish}};
}

constexpr Row extend_row(Part permit) {
  return {lua::permit_semaphore_extend,
          {P::kPermitTimeouts, P::kSemaphoreChannel, permit, P::kLease, P::kPublish}};
}

constexpr Steps kRecipeSteps = [] {
  Steps of;
  of.acquire = {lua::permit_semaphore_acquire,
                {P::kName, P::kPermitTimeouts, P::kSemaphoreChannel, P::kPermitsOfOwner, P::kLease,
                 P::kPublish, P::kSetup}};
  of.release = release_row(P::kPermitsOfOwner);
  of.renew = {lua::permit_semaphore_renew, {P::kPermitTimeouts, P::kPermitsOfOwner}};
  of.check = {lua::permit_semaphore_check, {P::kPermitTimeouts, P::kPermitsOfOwner}};
  of.extend = extend_row(P::kPermitsOfOwner);
  return of;
}();

constexpr Row party_release_row(Part permits) {
  return {lua::barrier_release,
          {P::kName, P::kPermitTimeouts, P::kSemaphoreChannel, P::kState, P::kChangedChannel,
           permits, P::kPublish}};
}

constexpr Steps kPartySteps = [] {
  Steps of = kRecipeSteps;
  of.release = party_release_row(P::kPermitsOfOwner);
  of.renew = {lua::barrier_renew, {P::kName, P::kPermitTimeouts, P::kState, P::kPermitsOfOwner}};
  return of;
}();

constexpr Steps kSlotsSteps = [] {
  Steps of = kRecipeSteps;
  of.acquire = {lua::slots_acquire,
                {P::kName, P::kPermitTimeouts, P::kSemaphoreChannel, P::kSlots, P::kPermitsOfOwner,
                 P::kLease, P::kOwner, P::kFirstTerm, P::kSecondTerm, P::kThirdTerm, P::kPublish}};
  return of;
}();

constexpr PermitSteps kPermitSteps = [] {
  PermitSteps of;
  of.extend = extend_row(P::kPermits);
  of.lease_left = {lua::permit_semaphore_lease_left, {P::kPermitTimeouts, P::kPermits}};
  of.try_set_permits = {
      lua::permit_semaphore_try_set_permits,
      {P::kName, P::kPermitTimeouts, P::kSemaphoreChannel, P::kAmount, P::kPublish}};
  of.available = {lua::permit_semaphore_available_permits,
                  {P::kName, P::kPermitTimeouts, P::kSemaphoreChannel, P::kPublish}};
  of.permits = {lua::permit_semaphore_permits, {P::kName, P::kPermitTimeouts}};
  of.acquired = {lua::permit_semaphore_acquired_permits, {P::kPermitTimeouts}};
  of.remove = {lua::permit_semaphore_delete, {P::kName, P::kPermitTimeouts}};
  of.add_permits = {"add_permits",
                    {lua::permit_semaphore_add_permits,
                     {P::kName, P::kRequest, P::kSemaphoreChannel, P::kMemory, P::kRequestNumber,
                      P::kAmount, P::kPublish}}};
  of.set_permits = {"set_permits",
                    {lua::permit_semaphore_set_permits,
                     {P::kName, P::kRequest, P::kPermitTimeouts, P::kSemaphoreChannel, P::kMemory,
                      P::kRequestNumber, P::kAmount, P::kPublish}}};
  return of;
}();

constexpr Row kReleaseTogether{lua::permit_semaphore_release_many,
                               {P::kName, P::kRequest, P::kPermitTimeouts, P::kSemaphoreChannel,
                                P::kMemory, P::kRequestNumber, P::kPermits, P::kPublish}};

// The common part of all permits.
template <typename Base>
class Permit : public Base {
 public:
  Permit(const Steps& its_steps, std::string_view kind)
      : Base(its_steps, {kind, keys::kSemaphoreChannel, Waiting::kInTurn, {}, true, true}) {}

  Answer acquired(const resp::Reply& reply) const override {
    if (!reply.is_array()) return {Answer::Kind::kHeld, Millis(reply.integer())};
    const std::int64_t free = reply.integer_at(0);
    const bool says_all = reply.size() > 2;
    Answer answer{Answer::Kind::kGranted, Millis(reply.integer_at(1))};
    if (says_all) answer.other = reply.integer_at(2);
    answer.more = free > 0;
    if (free >= 0) return answer;
    answer.kind = Answer::Kind::kHeld;
    answer.value = -free - (says_all ? 1 : 0);
    return answer;
  }
};

class LeasedPermit : public Permit<TakingRecipe> {
 public:
  using Permit::Permit;
  void write_again(script::Writer& out, const LockName& name, const std::string& owner,
                   Millis lease) const override {
    steps.renew.write_each(out, {{&name, owner}}, lease);
  }
  bool written_again(const resp::Reply& reply) const override { return reply.size() == 0; }
};

class RenewedPermit : public Permit<HoldRecipe> {
 public:
  using Permit::Permit;
  std::vector<std::string> keys(const LockName& name, const std::string& /*owner*/) const override {
    return {keys::kPermitTimeouts.of(name)};
  }
};

// The permits of slots.
template <typename Base>
class SlotPermit final : public Base {
 public:
  using Base::Base;
  Answer acquired(const resp::Reply& reply) const override {
    if (!reply.is_array()) return Base::acquired(reply);
    if (reply.integer_at(0) < 0) return {Answer::Kind::kObjected};
    constexpr std::size_t kLeft = 2;
    Answer answer{Answer::Kind::kGranted, Millis(reply.integer_at(kLeft + 1))};
    answer.more = reply.integer_at(kLeft) > 0;
    return answer;
  }
};

}  // namespace

const PermitKind& permit_kind() {
  static constexpr std::string_view kWord = "permit_semaphore";
  static const RenewedPermit renewed(kRecipeSteps, kWord);
  static const LeasedPermit leased(kRecipeSteps, kWord);
  static const PermitKind kind{kWord, renewed, leased, release_row(P::kPermits)};
  return kind;
}

const PermitKind& party_kind() {
  static constexpr std::string_view kWord = "barrier";
  static const RenewedPermit renewed(kPartySteps, kWord);
  static const LeasedPermit leased(kPartySteps, kWord);
  static const PermitKind kind{kWord, renewed, leased, party_release_row(P::kPermits)};
  return kind;
}

const PermitKind& slots_kind() {
  static const SlotPermit<RenewedPermit> renewed(kSlotsSteps, permit_kind().word);
  static const SlotPermit<LeasedPermit> leased(kSlotsSteps, permit_kind().word);
  static const PermitKind kind{"slots", renewed, leased, release_row(P::kPermits)};
  return kind;
}

const PermitSteps& permit_steps() { return kPermitSteps; }

Step about_permits(const LockName& name, std::string_view permits, Millis lease) {
  Step step{name, {}, 0, lease};
  step.options.permits = permits;
  return step;
}

void release_together(script::Writer& out, const Step& step) {
  kReleaseTogether.write(out, step);
  const auto number = static_cast<std::int64_t>(step.options.permits.size() / kPermitIdSize);
  out.expect(-number, number);
}

}  // namespace holdfast::sync
