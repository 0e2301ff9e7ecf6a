-- Says in a client's key what the client is, and what its holds are for.
-- KEYS[1]  name: the client's key, a hash
-- ARGV[1]  lease: ms from now, 1 to 2^53
-- ARGV[2...]  fields: each with its value
-- returns  1: the key lives for the lease
redis.call('hset', KEYS[1], unpack(ARGV, 2))
return redis.call('pexpire', KEYS[1], ARGV[1])
