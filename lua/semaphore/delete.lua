-- Removes the semaphore; there are no permits then. Waiters go on waiting.
-- KEYS[1]  name: the semaphore's counter
-- KEYS[2]  request: the place of this request, where its number and its answer are kept for a while
-- ARGV[1]  memory: ms for which it is kept
-- ARGV[2]  number: of this request; each request has a higher one than the one before it in this place
-- returns  1: it is removed; a repeat gets the same answer
-- returns  0: it was not there
-- returns  error: WRONGTYPE: the key is no counter; nothing changed
-- @include _request/repeated.lua
-- @include _request/keep.lua
-- @include _request/counter.lua
local removed = redis.call('del', KEYS[1])
keep(removed)
return removed
