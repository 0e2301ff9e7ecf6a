-- Removes the latch, and wakes the waiters: it is open.
-- KEYS[1]  name: the latch's count
-- KEYS[2]  request: the answer to this request, kept for a while
-- KEYS[3]  channel: to which waiters subscribe
-- ARGV[1]  memory: ms for which it is kept
-- ARGV[2]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  1: it is removed, and "1" is published as Redisson does; a repeat gets the same answer
-- returns  0: it was not there
--
-- GET is there for its type check: DEL alone would delete a key that is not a latch.
-- @include _publish/tell.lua
-- @include _request/repeated.lua
redis.call('get', KEYS[1])
local removed = redis.call('del', KEYS[1])
redis.call('set', KEYS[2], removed, 'px', ARGV[1])
if removed == 1 then
  tell(ARGV[2], KEYS[3], '1')
end
return removed
