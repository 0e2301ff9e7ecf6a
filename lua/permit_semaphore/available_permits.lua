-- Counts the free permits, those that have expired included.
-- KEYS[1]  name: the counter of free permits
-- KEYS[2]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- KEYS[3]  channel: to which waiters subscribe
-- ARGV[1]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  any: the free permits; below 0 when some were taken away
-- returns  nil: the semaphore was never initialized
-- returns  error: WRONGTYPE: the key is no counter; nothing changed
local publish = ARGV[1]
-- @include _request/counter.lua
-- @include _permit_semaphore/reclaim.lua
if not counter and expired == 0 then
  return nil
end
return free
