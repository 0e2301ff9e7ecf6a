-- Takes permits, if enough are free.
-- KEYS[1]  name: the semaphore's counter, the permits that are free
-- KEYS[2]  request: the place of this request, where its number and what it has taken are kept for a while
-- ARGV[1]  memory: ms for which it is kept
-- ARGV[2]  number: of this request; each request has a higher one than the one before it in this place
-- ARGV[3]  permits: 1 to 2^31-1
-- returns  nil: granted; a repeat says so too
-- returns  < permits: refused, the number of free permits (below 0: a debt); nothing changed
-- returns  error: WRONGTYPE: the key is no counter; nothing changed
--
-- A request that was undone takes nothing: it gets the reply that none are free. So does one that comes after its
-- successor.
local last, taken = string.match(redis.call('get', KEYS[2]) or '', '^(%d+):(%d+)$')
local later = (tonumber(last) or 0) - tonumber(ARGV[2])
if later > 0 or (later == 0 and taken == '0') then
  return 0
elseif later == 0 then
  return nil
end

-- @include _request/counter.lua
local free = tonumber(counter or 0)
if free < tonumber(ARGV[3]) then
  return free
end
redis.call('decrby', KEYS[1], ARGV[3])
redis.call('set', KEYS[2], ARGV[2] .. ':' .. ARGV[3], 'px', ARGV[1])
return nil
