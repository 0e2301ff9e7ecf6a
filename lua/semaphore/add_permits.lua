-- Adds permits, released or new, and publishes the number of free permits.
-- KEYS[1]  name: the semaphore's counter, the permits that are free; made if it is not there
-- KEYS[2]  request: the place of this request, where its number and its answer are kept for a while
-- KEYS[3]  channel: to which waiters subscribe
-- ARGV[1]  memory: ms for which it is kept
-- ARGV[2]  number: of this request; each request has a higher one than the one before it in this place
-- ARGV[3]  permits: how many; below 0 they are removed, free or not
-- ARGV[4]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  any: the permits that are free now; a repeat gets the same answer
-- returns  error: OVERFLOW: there would be more than 2^31-1; nothing changed
-- returns  error: WRONGTYPE: the key is no counter; nothing changed
--
-- The published number is above 0: Redisson wakes that many waiters, and fails at less.
-- @include _publish/notify.lua
-- @include _request/repeated.lua
-- @include _request/keep.lua
-- @include _semaphore/room.lua
-- @include _request/counter.lua
local free = tonumber(counter or 0) + tonumber(ARGV[3])
local overflow = more_than_room(free)
if overflow then
  return overflow
end
-- @include _request/out_of_memory.lua
redis.call('incrby', KEYS[1], ARGV[3])
keep(free)
if free > 0 then
  notify(ARGV[4], KEYS[3], free)
end
return free
