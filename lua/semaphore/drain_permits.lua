-- Takes all permits that are free.
-- KEYS[1]  name: the semaphore's counter, 0 from now on
-- KEYS[2]  request: the answer to this request, kept for a while
-- ARGV[1]  memory: ms for which it is kept
-- returns  how many there were (below 0: were owed); a repeat gets the same answer
-- @include _request/repeated.lua
local free = tonumber(redis.call('get', KEYS[1]) or 0)
if free ~= 0 then
  redis.call('decrby', KEYS[1], free)
end
redis.call('set', KEYS[2], free, 'px', ARGV[1])
return free
