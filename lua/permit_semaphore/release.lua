-- Gives permits back, those of them that are out, and wakes the waiters.
-- KEYS[1]  name: the counter of free permits
-- KEYS[2]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- KEYS[3]  channel: to which waiters subscribe
-- ARGV[1]  permits: their ids, 16 bytes each
-- ARGV[2]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  >= 1: given back, the new count is published; one more than the subscribers that received
--          the only free permit (when others were free before, no waiter needs this one)
-- returns  nil: none is out, or had not expired; of an expired one the counter gets its permit back
-- returns  error: WRONGTYPE: the key is no counter; nothing changed
--
-- ZREM comes first: it needs no memory, and what follows the first write
-- of a script is not refused for the lack of it.
-- @include _publish/notify.lua
-- @include _permit_semaphore/now.lua
-- @include _permit_semaphore/ids.lua
-- @include _request/counter.lua
local back, live = 0, false
for _, id in ipairs(ids(ARGV[1])) do
  local ends = redis.call('zscore', KEYS[2], id)
  if ends then
    redis.call('zrem', KEYS[2], id)
    back = back + 1
    live = live or ends + 0 > now
  end
end
if back == 0 then
  return nil
end
local free = redis.call('incrby', KEYS[1], back)
local receivers = 0
if free > 0 then
  receivers = notify(ARGV[2], KEYS[3], free)
end
if not live then
  return nil
end
return free == 1 and 1 + receivers or 1
