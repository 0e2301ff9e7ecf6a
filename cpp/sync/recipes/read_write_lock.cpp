#include "lua_scripts.h"
#include "sync/recipes/kinds.h"

namespace holdfast::sync {

namespace {

namespace lua = script::lua;
using P = Part;

constexpr Steps read_steps() {
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
}
constexpr Steps kReadSteps = read_steps();

constexpr Steps write_steps() {
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
}
constexpr Steps kWriteSteps = write_steps();

class ReadLock final : public LockRecipe {
 public:
  ReadLock() : LockRecipe(kReadSteps, {"read", keys::kSidesChannel, Waiting::kTogether}) {}

  std::vector<std::int64_t> renewed(const resp::Reply& reply, std::size_t holds) const override {
    std::vector<std::int64_t> left(holds);
    for (std::size_t i = 0; i < holds; ++i) left[i] = reply.integer_at(i);
    return left;
  }

  // The watchdog of Redisson's readers sets the lease of the whole lock to its own.
  std::optional<Millis> found(std::int64_t reply) const override { return Millis(reply); }

  std::vector<std::string> keys(const LockName& name, const std::string& owner) const override {
    return {name.text(), read_timeout(name, owner)};
  }
};

}  // namespace

const LockRecipe& read_lock_recipe() {
  static const ReadLock recipe;
  return recipe;
}

const LockRecipe& write_lock_recipe() {
  static const LockRecipe recipe(kWriteSteps,
                                 {"write", keys::kSidesChannel, Waiting::kInTurn, "write_lock"});
  return recipe;
}

}  // namespace holdfast::sync
