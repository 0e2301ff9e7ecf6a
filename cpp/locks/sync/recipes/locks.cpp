#include <charconv>

#include "locks/sync/recipes/kinds.h"
#include "lua_scripts.h"

namespace holdfast::sync {

namespace {

namespace lua = script::lua;
using P = Part;

constexpr script::Script kHashSize{
    "HLEN",
    {},
    {},
    resp::ReplyKinds(resp::ReplyKind::kInteger).within(0, resp::ReplyKinds::kMost),
    1,
    0,
    "*2\r\n$4\r\nHLEN\r\n"};

// The steps of the reentrant lock: a hash, owner -> hold count (Redisson's RLock). Similar kinds
// replace some of them.
constexpr Steps kLockSteps = [] {
  Steps of;
  of.acquire = {lua::lock_acquire, {P::kName, P::kOwner, P::kLease, P::kCount}};
  of.release = {lua::lock_release, {P::kName, P::kLockChannel, P::kOwner, P::kCount, P::kPublish}};
  of.release_either = {lua::lock_release_either,
                       {P::kName, P::kLockChannel, P::kOwner, P::kOther, P::kPublish}};
  of.retain = {
      lua::lock_retain,
      {P::kName, P::kLockChannel, P::kOwner, P::kOtherOrOwner, P::kKeeper, P::kStays, P::kPublish}};
  of.renew = {lua::lock_renew, {P::kName, P::kOwner}};
  of.check = {lua::lock_check, {P::kName, P::kOwner}};
  of.extend = {lua::lock_extend, {P::kName, P::kLockChannel, P::kOwner, P::kLease, P::kPublish}};
  of.transfer = {lua::lock_transfer,
                 {P::kName, P::kLockChannel, P::kOwner, P::kNext, P::kLease, P::kPublish}};
  of.move = {lua::lock_move,
             {P::kName, P::kLockChannel, P::kOwner, P::kNext, P::kLease, P::kPublish}};
  of.force_release = {lua::lock_force_release, {P::kName, P::kLockChannel, P::kPublish}};
  of.locked = {kHashSize, {P::kName}};
  of.hold_count = {kHashGet, {P::kName, P::kOwner}};
  of.ttl = {lua::lock_ttl, {P::kName}};
  return of;
}();

// After the grant it is an ordinary lock: only the acquisition, and the message of a release,
// differ.
constexpr Steps kFairSteps = [] {
  Steps of = kLockSteps;
  of.acquire = {lua::fair_lock_acquire,
                {P::kName, P::kFairQueue, P::kFairTimeouts, P::kOwner, P::kLease, P::kCount,
                 P::kQueueTimeout}};
  of.release = {lua::fair_lock_release,
                {P::kName, P::kFairQueue, P::kFairTimeouts, P::kLockChannel, P::kOwner, P::kCount,
                 P::kPublish}};
  of.release_either = {lua::fair_lock_release_either,
                       {P::kName, P::kFairQueue, P::kFairTimeouts, P::kLockChannel, P::kOwner,
                        P::kOther, P::kPublish}};
  of.retain = {};
  of.extend = {lua::fair_lock_extend,
               {P::kName, P::kFairQueue, P::kFairTimeouts, P::kLockChannel, P::kOwner, P::kLease,
                P::kPublish}};
  of.transfer = {};
  of.move = {lua::fair_lock_move,
             {P::kName, P::kFairQueue, P::kFairTimeouts, P::kLockChannel, P::kOwner, P::kNext,
              P::kLease, P::kPublish}};
  of.force_release = {lua::fair_lock_force_release,
                      {P::kName, P::kFairQueue, P::kFairTimeouts, P::kLockChannel, P::kPublish}};
  return of;
}();

class FairLock final : public LockRecipe {
 public:
  using LockRecipe::LockRecipe;

  std::string channel(const LockName& name, const std::string& owner) const override {
    return keys::kLockChannel.of(name) + ':' + owner;
  }

  Answer acquired(const resp::Reply& reply) const override {
    if (reply.is_nil() || reply.integer() >= kHoldsGone) return LockRecipe::acquired(reply);
    Answer answer = held(kWithoutTtl);
    answer.ttl = Millis(kHoldsGone - reply.integer());
    return answer;
  }
};

constexpr Steps kFencedSteps = [] {
  Steps of = kLockSteps;
  of.acquire = {lua::fenced_lock_acquire,
                {P::kName, P::kTokenCounter, P::kOwner, P::kLease, P::kCount}};
  of.transfer = {
      lua::fenced_lock_transfer,
      {P::kName, P::kLockChannel, P::kTokenCounter, P::kOwner, P::kNext, P::kLease, P::kPublish}};
  return of;
}();

// A token is text; all other replies of the steps are numbers, or nil.
std::optional<std::int64_t> token(const resp::Reply& reply) {
  if (reply.is_nil() || reply.is_integer()) return std::nullopt;
  std::int64_t value = 0;
  const std::string_view text = reply.text();
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// An acquire, with the leader's value and how long that stays as its terms, also announces it; the
// release withdraws it. Each election has its own owner, with one hold.
constexpr Steps kLeaderSteps = [] {
  Steps of = kFencedSteps;
  of.acquire = {lua::leader_acquire,
                {P::kName, P::kTokenCounter, P::kState, P::kChangedChannel, P::kOwner, P::kLease,
                 P::kCount, P::kFirstTerm, P::kSecondTerm, P::kPublish}};
  of.transfer = {};
  of.release = {lua::leader_release,
                {P::kName, P::kLockChannel, P::kState, P::kChangedChannel, P::kOwner, P::kPublish}};
  of.release_either = {};
  of.retain = {};
  return of;
}();

class FencedLock final : public LockRecipe {
 public:
  using LockRecipe::LockRecipe;

  Answer acquired(const resp::Reply& reply) const override {
    const std::optional<std::int64_t> minted = token(reply);
    if (minted) return {Answer::Kind::kGranted, Millis(0), minted};
    return LockRecipe::acquired(reply);
  }

  Answer transferred(const resp::Reply& reply) const override {
    Answer answer = LockRecipe::transferred(reply);
    answer.value = token(reply);
    return answer;
  }
};

constexpr Steps kReadSteps = [] {
  Steps of;
  of.acquire = {lua::read_write_lock_read_acquire,
                {P::kName, P::kBraced, P::kOwner, P::kLease, P::kCount}};
  of.release = {lua::read_write_lock_read_release,
                {P::kName, P::kSidesChannel, P::kBraced, P::kOwner, P::kCount, P::kPublish}};
  of.renew = {lua::read_write_lock_read_renew, {P::kName, P::kBraced, P::kReadTimeout, P::kOwner}};
  of.check = {lua::read_write_lock_read_check, {P::kName, P::kReadTimeout, P::kOwner}};
  of.extend = {lua::read_write_lock_read_extend,
               {P::kName, P::kSidesChannel, P::kBraced, P::kOwner, P::kLease, P::kPublish}};
  of.force_release = {lua::read_write_lock_force_release,
                      {P::kName, P::kSidesChannel, P::kBraced, P::kRead, P::kPublish}};
  of.locked = {lua::read_write_lock_locked, {P::kName, P::kRead}};
  of.hold_count = {lua::read_write_lock_read_holds, {P::kName, P::kBraced, P::kOwner}};
  of.ttl = {lua::lock_ttl, {P::kName}};
  return of;
}();

constexpr Steps kWriteSteps = [] {
  Steps of;
  of.acquire = {lua::read_write_lock_write_acquire, {P::kName, P::kOwner, P::kLease, P::kCount}};
  of.release = {lua::read_write_lock_write_release,
                {P::kName, P::kSidesChannel, P::kBraced, P::kOwner, P::kCount, P::kPublish}};
  of.release_either = {lua::read_write_lock_write_release_either,
                       {P::kName, P::kSidesChannel, P::kOwner, P::kOther, P::kPublish}};
  of.renew = {lua::lock_renew, {P::kName, P::kWriter}};
  of.check = {lua::lock_check, {P::kName, P::kWriter}};
  of.extend = {lua::read_write_lock_write_extend,
               {P::kName, P::kSidesChannel, P::kBraced, P::kOwner, P::kLease, P::kPublish}};
  of.move = {lua::read_write_lock_write_move,
             {P::kName, P::kSidesChannel, P::kOwner, P::kNext, P::kLease, P::kPublish}};
  of.force_release = {lua::read_write_lock_force_release,
                      {P::kName, P::kSidesChannel, P::kBraced, P::kWrite, P::kPublish}};
  of.locked = {lua::read_write_lock_locked, {P::kName, P::kWrite}};
  of.hold_count = {kHashGet, {P::kName, P::kWriter}};
  of.ttl = {lua::lock_ttl, {P::kName}};
  return of;
}();

class ReadLock final : public LockRecipe {
 public:
  using LockRecipe::LockRecipe;
  std::vector<std::int64_t> renewed(const resp::Reply& reply, std::size_t holds) const override {
    std::vector<std::int64_t> left(holds);
    for (std::size_t i = 0; i < holds; ++i) left[i] = reply.integer_at(i);
    return left;
  }

  // The watchdog of Redisson's readers sets the lease of the whole lock to its own.
  std::optional<Millis> found(std::int64_t reply) const override { return Millis(reply); }

  std::vector<std::string> keys(const LockName& name, const std::string& owner) const override {
    std::string read_timeout = keys::kReadTimeout.of(name);
    return {name.text(), read_timeout.append(owner).append(keys::kReadTimeoutEnd)};
  }
};

constexpr script::Script kDelete{
    "DEL", {}, {}, script::kNumberReplies, 1, 0, "*2\r\n$3\r\nDEL\r\n"};

// Its renewal also makes it. No client looks at it, or waits for it.
constexpr Steps kClientKeySteps = [] {
  Steps of;
  of.renew = {lua::client_renew, {P::kName, P::kNext}};
  of.release = {kDelete, {P::kName}};
  return of;
}();

}  // namespace

const LockRecipe& lock_recipe() {
  static const LockRecipe recipe(kLockSteps,
                                 {"lock", keys::kLockChannel, Waiting::kInTurn, "lock"});
  return recipe;
}

const LockRecipe& spin_lock_recipe() {
  static const LockRecipe recipe(kLockSteps, {"spin_lock", keys::kLockChannel, Waiting::kBackOff});
  return recipe;
}

const LockRecipe& fair_lock_recipe() {
  static const FairLock recipe(kFairSteps,
                               {"fair_lock", keys::kLockChannel, Waiting::kInLine, "fair_lock"});
  return recipe;
}

const LockRecipe& fenced_lock_recipe() {
  static const FencedLock recipe(
      kFencedSteps, {"fenced_lock", keys::kLockChannel, Waiting::kInTurn, "fenced_lock"});
  return recipe;
}

const LockRecipe& leader_recipe() {
  static const FencedLock recipe(kLeaderSteps,
                                 {"fenced_lock", keys::kLockChannel, Waiting::kInTurn});
  return recipe;
}

const LockRecipe& read_lock_recipe() {
  static const ReadLock recipe(kReadSteps, {"read", keys::kSidesChannel, Waiting::kTogether});
  return recipe;
}

const LockRecipe& write_lock_recipe() {
  static const LockRecipe recipe(kWriteSteps,
                                 {"write", keys::kSidesChannel, Waiting::kInTurn, "write_lock"});
  return recipe;
}

const LockRecipe& client_key_recipe() {
  static const LockRecipe recipe(kClientKeySteps, {"client_key", keys::kLockChannel});
  return recipe;
}

}  // namespace holdfast::sync
