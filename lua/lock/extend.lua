-- Sets the owner's lease anew, shorter or longer than what is left of it.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- KEYS[2]  channel: to which waiters subscribe
-- ARGV[1]  owner: the expected owner, "uuid:number"
-- ARGV[2]  lease: ms from now, 1 to 2^53
-- ARGV[3]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  1: the key lives for the lease from now on; if that is shorter, "0" is published
-- returns  0: the owner does not hold it; nothing changed
-- @include _publish/notify.lua
-- @include _lock/set_lease.lua
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return 0
end
if set_lease(KEYS[1], ARGV[2]) then
  notify(ARGV[3], KEYS[2], '0')
end
return 1
