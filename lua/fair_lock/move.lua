-- Gives the hold of one owner to another, with a new lease; the lock is never free between the two.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- KEYS[2]  queue: the waiters, a list of owners
-- KEYS[3]  timeouts: until when each of them counts as alive, ms since 1970; a sorted set
-- KEYS[4]  channel: with ":" and an owner behind it, the channel of that waiter
-- ARGV[1]  owner: the present owner, once
-- ARGV[2]  next: the owner afterwards; another owner than ARGV[1]
-- ARGV[3]  lease: ms from now, 1 to 2^53
-- ARGV[4]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  >= -1: next holds it for the lease; the ms that were left before, -1 if that is not known because next
--          held it already (a repeat); if the lease is shorter, the first in the queue is sent "0"
-- returns  nil: neither of them holds it; nothing changed
-- @include _publish/notify.lua
-- @include _lock/set_lease.lua

-- @include _lock/keep.lua
local left = -1
if held then
  left = redis.call('pttl', KEYS[1])
  redis.call('hset', KEYS[1], ARGV[2], '1')
  redis.call('hdel', KEYS[1], ARGV[1])
end
if set_lease(KEYS[1], ARGV[3]) then
  -- @include _fair_lock/head.lua
  local head = first_waiter()
  if head then
    notify(ARGV[4], KEYS[4] .. ':' .. head, '0')
  end
end
return left
