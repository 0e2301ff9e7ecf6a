-- Gives the write hold of one owner to another, with a new lease; the lock is never free between the two.
-- KEYS[1]  name: the lock's hash, mode and owner -> hold count
-- KEYS[2]  channel: to which waiters subscribe
-- ARGV[1]  owner: who writes, once, and does not read
-- ARGV[2]  next: who writes afterwards; another owner than ARGV[1]
-- ARGV[3]  lease: ms from now, 1 to 2^53
-- ARGV[4]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  >= -1: next writes for the lease; the ms that were left before, -1 if that is not known because next
--          wrote already (a repeat); if the lease is shorter, "1" is published
-- returns  nil: neither of them writes; nothing changed
-- @include _publish/notify.lua
-- @include _lock/set_lease.lua
local name, field, other = KEYS[1], ARGV[1] .. ':write', ARGV[2] .. ':write'
local held = redis.call('hexists', name, field) == 1
if not held and redis.call('hexists', name, other) == 0 then
  return nil
end
local left = -1
if held then
  left = redis.call('pttl', name)
  redis.call('hset', name, other, '1')
  redis.call('hdel', name, field)
end
if set_lease(name, ARGV[3]) then
  notify(ARGV[4], KEYS[2], '1')
end
return left
