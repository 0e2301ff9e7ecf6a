-- Adds permits, released or new, and publishes the number of free permits.
-- KEYS[1]  name: the semaphore's counter, the permits that are free; made if it is not there
-- KEYS[2]  request: the answer to this request, kept for a while
-- KEYS[3]  channel: to which waiters subscribe
-- ARGV[1]  memory: ms for which it is kept
-- ARGV[2]  permits: how many; below 0 they are removed, free or not
-- ARGV[3]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  the permits that are free now; a repeat gets the same answer
-- returns  an error OVERFLOW: there would be more than 2^31-1; nothing changed
--
-- The published number is above 0: Redisson wakes that many waiters, and fails at less.
-- @include _publish/tell.lua
-- @include _request/repeated.lua
local MOST = 2147483647
local free = tonumber(redis.call('get', KEYS[1]) or 0) + tonumber(ARGV[2])
if free > MOST then
  return redis.error_reply('OVERFLOW a semaphore has no room for more than 2147483647 permits')
end
-- @include _request/out_of_memory.lua
redis.call('incrby', KEYS[1], ARGV[2])
redis.call('set', KEYS[2], free, 'px', ARGV[1])
if free > 0 then
  tell(ARGV[3], KEYS[3], free)
end
return free
