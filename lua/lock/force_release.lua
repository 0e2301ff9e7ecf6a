-- Frees the lock, regardless of its owner, and wakes the waiters.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- KEYS[2]  channel: to which waiters subscribe
-- ARGV[1]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  1: it was held; it is free and "0" is published
-- returns  0: it was free; nothing is published
--
-- HLEN is there for its type check: DEL alone would delete a key that is no lock.
-- @include _publish/notify.lua
if redis.call('hlen', KEYS[1]) == 0 then
  return 0
end
redis.call('del', KEYS[1])
notify(ARGV[1], KEYS[2], '0')
return 1
