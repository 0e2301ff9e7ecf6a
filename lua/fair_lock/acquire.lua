-- Grants the lock to the owner whose turn it is; another owner gets a place in the queue, or keeps the one it has.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- KEYS[2]  queue: the waiters, a list of owners
-- KEYS[3]  timeouts: until when each of them counts as alive, ms since 1970; a sorted set
-- ARGV[1]  owner: the requesting owner, "uuid:number"
-- ARGV[2]  lease: ms, 1 to 2^53
-- ARGV[3]  count: the holds the owner has once this one is granted, 1 for a first hold
-- ARGV[4]  queue_timeout: ms that a place lasts without a refresh, that is, another call; 0: takes no place
-- returns  nil: granted
-- returns  >= 1: refused; the ms after which to try again, a third of the queue_timeout at most
-- returns  < -3: refused by a key that never expires, another's; the ms as above are -3 less the reply
-- returns  -3: count is above 1 but the earlier holds are gone; nothing changed
--
-- The owner knows its count, so the count is set, not added to: a repeat means the same. The holder does
-- not queue for another hold. A refused owner tries again when the lock could be free and all earlier waiters
-- dead: later waiters do not wake with the first. Never at once: see the 1.
local FREE, FOREVER, LOST = -2, -1, -3
local ttl = redis.call('pttl', KEYS[1])
-- A longer lease that still runs is kept. Compared before the first write, so that a lease that is no number
-- leaves nothing half done.
local rises = ttl < tonumber(ARGV[2])
local foreign = ttl == FOREVER

if ttl == FREE or not redis.call('hget', KEYS[1], ARGV[1]) then
  if ARGV[3] ~= '1' then
    return LOST
  end
  -- @include _fair_lock/head.lua
  local head = first_waiter()
  if ttl ~= FREE or head and head ~= ARGV[1] then
    local queue_timeout = tonumber(ARGV[4])
    local third = math.max(1, math.floor(queue_timeout / 3))
    if queue_timeout > 0 then
      -- @include _fair_lock/place.lua
      ttl = math.min(free, third)
    end
    return foreign and LOST - third or math.max(1, ttl)
  end
  if head then
    redis.call('zrem', KEYS[3], head)
    redis.call('lpop', KEYS[2])
  end
end

redis.call('hset', KEYS[1], ARGV[1], ARGV[3])
if rises then
  redis.call('pexpire', KEYS[1], ARGV[2])
end
return nil
