-- Sets the lease of a permit anew, shorter or longer than what is left of it.
-- KEYS[1]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- ARGV[1]  permit: the id of the permit, 16 bytes
-- ARGV[2]  lease: ms from now, 1 to 2^53
-- returns  1: it lives for the lease from now on
-- returns  0: it is not out, or has expired; nothing changed
-- @include _permit_semaphore/now.lua
local ends = redis.call('zscore', KEYS[1], ARGV[1])
if not ends or ends + 0 <= now then
  return 0
end
-- @include _permit_semaphore/write.lua
redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
return 1
