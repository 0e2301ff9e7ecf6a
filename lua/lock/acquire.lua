-- Grants the lock to an owner, or says how long the holder's lease still runs.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- ARGV[1]  owner: who asks, "uuid:number"
-- ARGV[2]  lease: ms, 1 to 2^53
-- ARGV[3]  count: the holds the owner has once this one is granted, 1 for a first hold
-- returns  nil: granted
-- returns  >= -1: refused, the key's remaining ms (-1: another's key that never expires)
-- returns  -3: count is above 1 but the earlier holds are gone; nothing changed
--
-- The owner knows its count, so the count is set, not added to: a repeat means the same.
-- A key of another type fails in HGET, before anything is written.
local FREE, LOST = -2, -3
local lease = tonumber(ARGV[2])
local ttl = redis.call('pttl', KEYS[1])

if ttl == FREE or not redis.call('hget', KEYS[1], ARGV[1]) then
  if ARGV[3] ~= '1' then
    return LOST
  elseif ttl ~= FREE then
    return ttl
  end
end

-- A longer lease that still runs is kept: a nested hold never cuts the outer one's. Compared before the
-- first write, so that a lease that is no number leaves nothing half done.
local rises = ttl < lease
redis.call('hset', KEYS[1], ARGV[1], ARGV[3])
if rises then
  redis.call('pexpire', KEYS[1], ARGV[2])
end
return nil
