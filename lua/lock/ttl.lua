-- The remaining time of the holder's lease.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- returns  >= 0: ms left
-- returns  -1: held, and the key never expires
-- returns  -2: it is free
--
-- HLEN is there for its type check: a key that is no lock is an error, not a lease.
redis.call('hlen', KEYS[1])
return redis.call('pttl', KEYS[1])
