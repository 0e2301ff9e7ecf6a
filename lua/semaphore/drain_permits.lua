-- Takes all permits that are free.
-- KEYS[1]  name: the semaphore's counter, 0 from now on
-- KEYS[2]  request: the place of this request, where its number and its answer are kept for a while
-- ARGV[1]  memory: ms for which it is kept
-- ARGV[2]  number: of this request; each request has a higher one than the one before it in this place
-- returns  any: how many there were (below 0: a debt); a repeat gets the same answer
-- returns  error: WRONGTYPE: the key is no counter; nothing changed
-- @include _request/repeated.lua
-- @include _request/keep.lua
-- @include _request/counter.lua
local free = tonumber(counter or 0)
if free ~= 0 then
  redis.call('decrby', KEYS[1], free)
end
keep(free)
return free
