--!df flags=allow-undeclared-keys
-- Grants a read hold to an owner, or says how long the writer's lease still runs.
-- KEYS[1]  name: the lock's hash, mode and owner -> hold count
-- KEYS[2]  prefix: what the name's timeout keys begin with
-- ARGV[1]  owner: the requesting owner, "uuid:number"
-- ARGV[2]  lease: ms, 1 to 2^53
-- ARGV[3]  count: the read holds the owner has once this one is granted, 1 for a first hold
-- returns  nil: granted
-- returns  >= -1: refused, the key's remaining ms (-1: another's key that never expires)
-- returns  -3: count is above 1 but the earlier holds are gone; nothing changed
--
-- Readers let each other in, and a writer lets in itself. A hash without a mode is another kind of
-- lock. The owner knows its count, so the count is set, not added to: a repeat means the same.
-- @include _read_write_lock/timeout.lua
local FREE, LOST, GONE = -2, -3, -2
local name, owner = KEYS[1], ARGV[1]
local lease, count = tonumber(ARGV[2]), tonumber(ARGV[3])
local ttl = redis.call('pttl', name)
local mode = ttl ~= FREE and redis.call('hget', name, 'mode')

if count > 1 then
  local left = redis.call('pttl', timeout(KEYS[2], owner, 1))
  if not mode or left == GONE or redis.call('hexists', name, owner) == 0 then
    return LOST
  end
  -- All holds of an owner share one lease, the longest.
  lease = math.max(lease, left)
elseif ttl ~= FREE then
  if mode ~= 'read' and (mode ~= 'write' or redis.call('hexists', name, owner .. ':write') == 0) then
    return ttl
  end
  -- The owner's earlier hold, whose release it has overtaken, is not cut short: waiters know its lease.
  lease = math.max(lease, redis.call('pttl', timeout(KEYS[2], owner, 1)))
end

if ttl == FREE then
  redis.call('hset', name, 'mode', 'read', owner, count)
else
  redis.call('hset', name, owner, count)
end
-- The hash before its timeout keys: the longest of them never ends before it.
if ttl < lease then
  redis.call('pexpire', name, lease)
end
for n = 1, count do
  redis.call('set', timeout(KEYS[2], owner, n), '1', 'px', lease)
end
return nil
