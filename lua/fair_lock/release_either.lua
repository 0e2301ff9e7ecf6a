-- Releases the hold that is under one of two owners, because a step that was to move it has no answer.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- KEYS[2]  queue: the waiters, a list of owners
-- KEYS[3]  timeouts: until when each of them counts as alive, ms since 1970; a sorted set
-- KEYS[4]  channel: with ":" and an owner behind it, the channel of that waiter
-- ARGV[1]  owner: the releasing owner, "uuid:number"
-- ARGV[2]  other: the owner that the hold may have by now
-- ARGV[3]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  >= 1: freed, the first in the queue is sent "0"; one more than the subscribers that received it
-- returns  nil: neither of them holds it; nothing changed
--
-- Freeing takes no memory, so it works on a server that has none left.
-- @include _publish/notify.lua
if redis.call('hdel', KEYS[1], ARGV[1], ARGV[2]) == 0 then
  return nil
end
-- @include _fair_lock/head.lua
local head = first_waiter()
return 1 + (head and notify(ARGV[3], KEYS[4] .. ':' .. head, '0') or 0)
