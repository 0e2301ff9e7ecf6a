-- Counts the permits that are in use.
-- KEYS[1]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- returns  >= 0: those that have not expired
-- @include _permit_semaphore/now.lua
return redis.call('zcard', KEYS[1]) - redis.call('zcount', KEYS[1], '-inf', now)
