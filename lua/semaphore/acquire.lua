-- Takes permits, if enough are free.
-- KEYS[1]  name: the semaphore's counter, the permits that are free
-- KEYS[2]  request: what this acquisition has taken, kept for a while
-- ARGV[1]  memory: ms for which it is kept
-- ARGV[2]  permits: 1 to 2^31-1
-- returns  nil: granted; a repeat says so too
-- returns  < permits: refused, the number of free permits (below 0: owed); nothing changed
--
-- A request that was undone takes nothing: it gets the reply that none are free.
local taken = redis.call('get', KEYS[2])
if taken == '0' then
  return 0
elseif taken then
  return nil
end

local free = tonumber(redis.call('get', KEYS[1]) or 0)
if free < tonumber(ARGV[2]) then
  return free
end
redis.call('decrby', KEYS[1], ARGV[2])
redis.call('set', KEYS[2], ARGV[2], 'px', ARGV[1])
return nil
