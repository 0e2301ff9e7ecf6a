-- Removes the latch, and wakes the waiters: it is open.
-- KEYS[1]  name: the latch's count
-- KEYS[2]  request: the place of this request, where its number and its answer are kept for a while
-- KEYS[3]  channel: to which waiters subscribe
-- ARGV[1]  memory: ms for which it is kept
-- ARGV[2]  number: of this request; each request has a higher one than the one before it in this place
-- ARGV[3]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  1: it is removed, and "1" is published as Redisson does; a repeat gets the same answer
-- returns  0: it was not there
-- returns  error: WRONGTYPE: the key is no counter; nothing changed
-- @include _publish/notify.lua
-- @include _request/repeated.lua
-- @include _request/keep.lua
-- @include _request/counter.lua
local removed = redis.call('del', KEYS[1])
keep(removed)
if removed == 1 then
  notify(ARGV[3], KEYS[3], '1')
end
return removed
