-- Grants the write lock to an owner, or says how long the holders' leases still run.
-- KEYS[1]  name: the lock's hash, mode and owner -> hold count
-- ARGV[1]  owner: the requesting owner, "uuid:number"
-- ARGV[2]  lease: ms, 1 to 2^53
-- ARGV[3]  count: the write holds the owner has once this one is granted, 1 for a first hold
-- returns  nil: granted
-- returns  >= -1: refused, the key's remaining ms (-1: another's key that never expires)
-- returns  -3: count is above 1 but the earlier holds are gone; nothing changed
--
-- The owner knows its count, so the count is set, not added to: a repeat means the same. A longer lease
-- that still runs is kept, and a second one is not added to it.
local FREE, LOST = -2, -3
local field, lease = ARGV[1] .. ':write', tonumber(ARGV[2])
local ttl = redis.call('pttl', KEYS[1])

if ttl == FREE or redis.call('hexists', KEYS[1], field) == 0 then
  if ARGV[3] ~= '1' then
    return LOST
  elseif ttl ~= FREE then
    return ttl
  end
end

local rises = ttl < lease
redis.call('hset', KEYS[1], 'mode', 'write', field, ARGV[3])
if rises then
  redis.call('pexpire', KEYS[1], ARGV[2])
end
return nil
