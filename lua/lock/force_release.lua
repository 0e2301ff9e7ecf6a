-- Frees the lock, regardless of its owner, and wakes the waiters.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- KEYS[2]  channel: to which waiters subscribe
-- ARGV[1]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  1: it was held; it is free and "0" is published
-- returns  0: it was free; nothing is published
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
notify(ARGV[1], KEYS[2], '0')
return 1
