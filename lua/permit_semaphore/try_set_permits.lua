-- Sets the number of permits, unless it has been set.
-- KEYS[1]  name: the counter of free permits
-- KEYS[2]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- KEYS[3]  channel: to which waiters subscribe
-- ARGV[1]  permits: 0 to 2^31 - 1
-- ARGV[2]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  1: the number is set and published
-- returns  0: there is a counter already; nothing changed
-- returns  error: WRONGTYPE: the key is no counter; nothing changed
--
-- Permits in use of a counter that is gone are dropped: returned, they would be too many.
-- @include _publish/notify.lua
-- @include _request/counter.lua
if counter then
  return 0
end
redis.call('set', KEYS[1], ARGV[1])
redis.call('del', KEYS[2])
notify(ARGV[2], KEYS[3], ARGV[1])
return 1
