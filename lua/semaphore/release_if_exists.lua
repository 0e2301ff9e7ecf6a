-- Gives permits back to a semaphore that is there, and publishes the number of free permits.
-- KEYS[1]  name: the semaphore's counter, the permits that are free
-- KEYS[2]  request: the place of this request, where its number and its answer are kept for a while
-- KEYS[3]  channel: to which waiters subscribe
-- ARGV[1]  memory: ms for which it is kept
-- ARGV[2]  number: of this request; each request has a higher one than the one before it in this place
-- ARGV[3]  permits: 1 to 2^31-1
-- ARGV[4]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  1: given back; a repeat gets the same answer
-- returns  0: there is no semaphore; nothing changed
-- returns  error: OVERFLOW: there would be more than 2^31-1; nothing changed
-- returns  error: WRONGTYPE: the key is no counter; nothing changed
--
-- The published number is above 0: Redisson wakes that many waiters, and fails at less.
-- @include _publish/notify.lua
-- @include _request/repeated.lua
-- @include _request/keep.lua
-- @include _semaphore/room.lua
-- @include _request/counter.lua
local overflow = counter and more_than_room(counter + ARGV[3])
if overflow then
  return overflow
end
-- @include _request/out_of_memory.lua
if not counter then
  keep(0)
  return 0
end
local free = redis.call('incrby', KEYS[1], ARGV[3])
keep(1)
if free > 0 then
  notify(ARGV[4], KEYS[3], free)
end
return 1
