-- Removes the semaphore, with the permits that are out.
-- KEYS[1]  name: the counter of free permits
-- KEYS[2]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- returns  1: it was there
-- returns  0: it was not
-- returns  error: WRONGTYPE: the key is no counter; nothing changed
--
-- ZCARD is there for its type check: DEL alone would delete a key that is no semaphore's.
-- @include _request/counter.lua
redis.call('zcard', KEYS[2])
return math.min(1, redis.call('del', KEYS[1], KEYS[2]))
