--!df flags=allow-undeclared-keys
-- Sets the writer's lease anew, shorter or longer than what is left of it.
-- KEYS[1]  name: the lock's hash, mode and owner -> hold count
-- KEYS[2]  channel: to which waiters subscribe
-- KEYS[3]  prefix: what the name's timeout keys begin with
-- ARGV[1]  owner: who should write, "uuid:number"
-- ARGV[2]  lease: ms from now, 1 to 2^53
-- ARGV[3]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  1: the key lives for the lease from now on, or longer for the owner's read holds; if that is shorter
--          than before, "1" is published
-- returns  0: the owner does not write; nothing changed
-- @include _publish/notify.lua
-- @include _read_write_lock/timeout.lua
-- @include _lock/set_lease.lua
local name, owner = KEYS[1], ARGV[1]
if redis.call('hexists', name, owner .. ':write') == 0 then
  return 0
end
local lease = tonumber(ARGV[2])
if redis.call('hexists', name, owner) == 1 then
  lease = math.max(lease, redis.call('pttl', timeout(KEYS[3], owner, 1)))
end
if set_lease(name, lease) then
  notify(ARGV[3], KEYS[2], '1')
end
return 1
