-- Removes the semaphore; there are no permits then. Waiters go on waiting.
-- KEYS[1]  name: the semaphore's counter
-- KEYS[2]  request: the answer to this request, kept for a while
-- ARGV[1]  memory: ms for which it is kept
-- returns  1: it is removed; a repeat gets the same answer
-- returns  0: it was not there
--
-- GET is there for its type check: DEL alone would delete a key that is not a semaphore.
-- @include _request/repeated.lua
redis.call('get', KEYS[1])
local removed = redis.call('del', KEYS[1])
redis.call('set', KEYS[2], removed, 'px', ARGV[1])
return removed
