-- Sets the lease of a permit anew, shorter or longer than what is left of it.
-- KEYS[1]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- KEYS[2]  channel: to which waiters subscribe
-- ARGV[1]  permit: the id of the permit, 16 bytes
-- ARGV[2]  lease: ms from now, 1 to 2^53
-- ARGV[3]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  1: it lives for the lease from now on; if that is shorter, "0" is published
-- returns  0: it is not out, or has expired; nothing changed
--
-- Waiters sleep until the expiry of the next permit that they know: an earlier one must be published.
-- @include _publish/notify.lua
-- @include _permit_semaphore/now.lua
-- @include _permit_semaphore/write.lua
local before = redis.call('zscore', KEYS[1], ARGV[1])
if not before or before + 0 <= now then
  return 0
end
write(KEYS[1])
redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
if now + ARGV[2] < before + 0 then
  notify(ARGV[3], KEYS[2], '0')
end
return 1
