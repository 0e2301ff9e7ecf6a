-- Gives a permit back, and wakes the waiters.
-- KEYS[1]  name: the counter of free permits
-- KEYS[2]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- KEYS[3]  channel: to which waiters subscribe
-- ARGV[1]  permit: the id of the permit, 16 bytes
-- ARGV[2]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  >= 1: given back, the new count is published; one more than the subscribers that received
--          the only free permit (when others were free before, no waiter needs this one)
-- returns  nil: it is not out, or had expired; of an expired one the counter gets its permit back
--
-- GET is there for its type check. ZREM comes first: it needs no memory, and what follows the first write
-- of a script is not refused for the lack of it.
-- @include _publish/notify.lua
-- @include _permit_semaphore/now.lua
redis.call('get', KEYS[1])
local ends = redis.call('zscore', KEYS[2], ARGV[1])
if not ends then
  return nil
end
redis.call('zrem', KEYS[2], ARGV[1])
local free = redis.call('incr', KEYS[1])
local receivers = 0
if free > 0 then
  receivers = notify(ARGV[2], KEYS[3], free)
end
if ends + 0 <= now then
  return nil
end
return free == 1 and 1 + receivers or 1
