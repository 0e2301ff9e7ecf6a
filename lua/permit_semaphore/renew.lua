-- Keeps a permit alive: it lives for the lease from now on, at least.
-- KEYS[1]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- ARGV[1]  permit: the id of the permit, 16 bytes
-- ARGV[2]  lease: ms from now, 1 to 2^53
-- returns  1: it lives for the lease or longer
-- returns  0: it is not out, or has expired; nothing changed
--
-- What was written is read once more, as by _lock/lengthen.lua.
-- @include _permit_semaphore/now.lua
local ends = redis.call('zscore', KEYS[1], ARGV[1])
if not ends or ends + 0 < now + ARGV[2] then
  -- A replica refuses this: what its data lack, as in a failover, is not lost.
  -- @include _permit_semaphore/write.lua
  if not ends or ends + 0 <= now then
    return 0
  end
  redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
  redis.call('zscore', KEYS[1], ARGV[1])
end
return 1
