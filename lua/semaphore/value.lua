-- Reads a counter: that of a semaphore, or of a latch.
-- KEYS[1]  name: the counter
-- returns  nil: there is none
-- returns  any: its number
-- returns  error: WRONGTYPE: the key is no counter
-- @include _request/counter.lua
return counter and tonumber(counter)
