-- Counts all permits, free and in use.
-- KEYS[1]  name: the counter of free permits
-- KEYS[2]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- returns  any: all permits, 0 if the semaphore was never initialized; below 0 when too many were taken away
-- returns  error: WRONGTYPE: the key is no counter; nothing changed
--
-- One that has expired is among them, whether it has been counted back or not.
-- @include _request/counter.lua
return (counter or 0) + redis.call('zcard', KEYS[2])
