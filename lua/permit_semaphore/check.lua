-- How long a permit still lives; it writes nothing.
-- KEYS[1]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- ARGV[1]  permit: the id of the permit, 16 bytes
-- returns  >= 1: the ms that are left of its lease
-- returns  0: it is not out, or has expired
-- @include _permit_semaphore/now.lua
local ends = redis.call('zscore', KEYS[1], ARGV[1])
return ends and math.max(0, math.ceil(ends - now)) or 0
