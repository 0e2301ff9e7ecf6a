-- Creates the semaphore with a number of permits, unless it exists.
-- KEYS[1]  name: the semaphore's counter, the permits that are free
-- KEYS[2]  request: the answer to this request, kept for a while
-- KEYS[3]  channel: to which waiters subscribe
-- ARGV[1]  memory: ms for which it is kept
-- ARGV[2]  permits: 0 to 2^31-1
-- ARGV[3]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  1: it is made; a repeat gets the same answer
-- returns  0: it was there, with however many permits; nothing changed
-- @include _publish/tell.lua
-- @include _request/repeated.lua
local made = 0
if not redis.call('get', KEYS[1]) then
  redis.call('set', KEYS[1], ARGV[2])
  made = 1
end
redis.call('set', KEYS[2], made, 'px', ARGV[1])
if made == 1 and ARGV[2] ~= '0' then
  tell(ARGV[3], KEYS[3], ARGV[2])
end
return made
