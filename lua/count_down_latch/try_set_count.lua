-- Closes the latch with a count, unless it has one.
-- KEYS[1]  name: the latch's count
-- KEYS[2]  request: the place of this request, where its number and its answer are kept for a while
-- KEYS[3]  channel: to which waiters subscribe
-- ARGV[1]  memory: ms for which it is kept
-- ARGV[2]  number: of this request; each request has a higher one than the one before it in this place
-- ARGV[3]  count: 1 to 2^31-1
-- ARGV[4]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  1: it is closed, and "1" is published; a repeat gets the same answer
-- returns  0: it had a count; nothing changed
-- returns  error: WRONGTYPE: the key is no counter; nothing changed
-- @include _publish/notify.lua
-- @include _request/repeated.lua
-- @include _request/keep.lua
-- @include _request/counter.lua
local closed = 0
if not counter then
  redis.call('set', KEYS[1], ARGV[3])
  closed = 1
end
keep(closed)
if closed == 1 then
  notify(ARGV[4], KEYS[3], '1')
end
return closed
