-- Creates the semaphore with a number of permits, unless it exists.
-- KEYS[1]  name: the semaphore's counter, the permits that are free
-- KEYS[2]  request: the place of this request, where its number and its answer are kept for a while
-- KEYS[3]  channel: to which waiters subscribe
-- ARGV[1]  memory: ms for which it is kept
-- ARGV[2]  number: of this request; each request has a higher one than the one before it in this place
-- ARGV[3]  permits: 0 to 2^31-1
-- ARGV[4]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  1: it is made; a repeat gets the same answer
-- returns  0: it was there, with however many permits; nothing changed
-- returns  error: WRONGTYPE: the key is no counter; nothing changed
-- @include _publish/notify.lua
-- @include _request/repeated.lua
-- @include _request/keep.lua
-- @include _request/counter.lua
local made = 0
if not counter then
  redis.call('set', KEYS[1], ARGV[3])
  made = 1
end
keep(made)
if made == 1 and ARGV[3] ~= '0' then
  notify(ARGV[4], KEYS[3], ARGV[3])
end
return made
