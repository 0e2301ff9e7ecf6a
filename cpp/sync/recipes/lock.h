#pragma once

#include "lua_scripts.h"
#include "sync/recipes/recipe.h"

namespace holdfast::sync {

inline constexpr script::Script kHashSize{
    "HLEN",
    {},
    {},
    resp::ReplyKinds(resp::ReplyKind::kInteger).within(0, resp::ReplyKinds::kMost),
    1,
    0,
    "*2\r\n$4\r\nHLEN\r\n"};

// The steps of the reentrant lock: a hash, owner -> hold count (Redisson's RLock). Similar kinds
// replace some of them.
constexpr Steps lock_steps() {
  Steps of;
  of.acquire = {script::lua::lock_acquire, {Part::kName, Part::kOwner, Part::kLease, Part::kCount}};
  of.release = {script::lua::lock_release,
                {Part::kName, Part::kLockChannel, Part::kOwner, Part::kCount, Part::kPublish}};
  of.release_either = {
      script::lua::lock_release_either,
      {Part::kName, Part::kLockChannel, Part::kOwner, Part::kOther, Part::kPublish}};
  of.retain = {script::lua::lock_retain,
               {Part::kName, Part::kLockChannel, Part::kOwner, Part::kOtherOrOwner, Part::kKeeper,
                Part::kStays, Part::kPublish}};
  of.renew = {script::lua::lock_renew, {Part::kName, Part::kOwner}};
  of.check = {script::lua::lock_check, {Part::kName, Part::kOwner}};
  of.extend = {script::lua::lock_extend,
               {Part::kName, Part::kLockChannel, Part::kOwner, Part::kLease, Part::kPublish}};
  of.transfer = {
      script::lua::lock_transfer,
      {Part::kName, Part::kLockChannel, Part::kOwner, Part::kNext, Part::kLease, Part::kPublish}};
  of.move = {
      script::lua::lock_move,
      {Part::kName, Part::kLockChannel, Part::kOwner, Part::kNext, Part::kLease, Part::kPublish}};
  of.force_release = {script::lua::lock_force_release,
                      {Part::kName, Part::kLockChannel, Part::kPublish}};
  of.locked = {kHashSize, {Part::kName}};
  of.hold_count = {kHashGet, {Part::kName, Part::kOwner}};
  of.ttl = {script::lua::lock_ttl, {Part::kName}};
  return of;
}

}  // namespace holdfast::sync
