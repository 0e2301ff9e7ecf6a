-- Sets the number of permits, those in use included, and publishes it.
-- KEYS[1]  name: the counter of free permits; made if it is not there
-- KEYS[2]  request: the place of this request, where its number and its answer are kept for a while
-- KEYS[3]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- KEYS[4]  channel: to which waiters subscribe
-- ARGV[1]  memory: ms for which it is kept
-- ARGV[2]  number: of this request; each request has a higher one than the one before it in this place
-- ARGV[3]  permits: 0 to 2^31 - 1
-- ARGV[4]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  any: the permits that are free now, those that have expired not yet among them; below 0: as many
--          of those in use are too many; a repeat gets the same answer
-- returns  error: WRONGTYPE: the key is no counter; nothing changed
--
-- Permits in use of a counter that is gone are dropped: returned, they would be too many.
-- @include _publish/notify.lua
-- @include _request/repeated.lua
-- @include _request/keep.lua
-- @include _request/counter.lua
local before = counter
local out = redis.call('zcard', KEYS[3])
local free = ARGV[3] - out
if not before then
  free = ARGV[3] + 0
  redis.call('del', KEYS[3])
  redis.call('set', KEYS[1], ARGV[3])
elseif free ~= before + 0 then
  redis.call('incrby', KEYS[1], free - before)
end
keep(free)
if free > 0 and (not before or free ~= before + 0) then
  notify(ARGV[4], KEYS[4], ARGV[3])
end
return free
