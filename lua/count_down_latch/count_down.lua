-- Lowers the count by one; at zero the latch opens, and the waiters wake.
-- KEYS[1]  name: the latch's count; the key is gone when it is open
-- KEYS[2]  request: the place of this request, where its number and its answer are kept for a while
-- KEYS[3]  channel: to which waiters subscribe
-- ARGV[1]  memory: ms for which it is kept
-- ARGV[2]  number: of this request; each request has a higher one than the one before it in this place
-- ARGV[3]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  >= 1: the count that is left; a repeat gets the same answer
-- returns  0: it is open; "0" is published if it was closed before
-- returns  error: WRONGTYPE: the key is no counter; nothing changed
-- @include _publish/notify.lua
-- @include _request/repeated.lua
-- @include _request/keep.lua
-- @include _request/counter.lua
local left = tonumber(counter or 0) - 1
-- @include _request/out_of_memory.lua
if left > 0 then
  redis.call('decr', KEYS[1])
else
  redis.call('del', KEYS[1])
end
keep(math.max(left, 0))
if left == 0 then
  notify(ARGV[3], KEYS[3], '0')
end
return math.max(left, 0)
