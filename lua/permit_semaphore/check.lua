-- How long a permit still lives; it changes nothing.
-- KEYS[1]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- ARGV[1]  permit: the id of the permit, 16 bytes
-- returns  >= 1: the ms that are left of its lease
-- returns  0: it is not out, or has expired
-- @include _permit_semaphore/now.lua
-- @include _permit_semaphore/write.lua
local ends = redis.call('zscore', KEYS[1], ARGV[1])
if ends and ends + 0 > now then
  return math.ceil(ends - now)
end
-- A replica refuses this: what its data lack, as in a failover, is not lost.
write(KEYS[1])
return 0
