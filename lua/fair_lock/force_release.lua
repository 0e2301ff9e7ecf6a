-- Frees the lock, regardless of its owner, and wakes the first in the queue.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- KEYS[2]  queue: the waiters, a list of owners
-- KEYS[3]  timeouts: until when each of them counts as alive, ms since 1970; a sorted set
-- KEYS[4]  channel: with ":" and an owner behind it, the channel of that waiter
-- ARGV[1]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  1: it was held; it is free and the first in the queue is sent "0"
-- returns  0: it was free; nothing changed
-- returns  error: WRONGTYPE: the key is no lock; nothing changed
-- @include _publish/notify.lua
-- @include _lock/owners.lua
local fields = redis.call('hgetall', KEYS[1])
if #fields == 0 then
  return 0
elseif not is_lock(fields) then
  return redis.error_reply('WRONGTYPE a hash whose fields are no owners')
end
redis.call('del', KEYS[1])
-- @include _fair_lock/head.lua
local head = first_waiter()
if head then
  notify(ARGV[1], KEYS[4] .. ':' .. head, '0')
end
return 1
