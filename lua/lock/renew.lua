-- Keeps the owner's hold alive: the key lives for the lease from now on, at least.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- ARGV[1]  owner: the expected owner, "uuid:number"
-- ARGV[2]  lease: ms from now, 1 to 2^53
-- returns  1: the key lives for the lease or longer
-- returns  0: the owner does not hold it; nothing changed
--
-- A longer lease that still runs is kept: a renewal that arrives late, after the owner has set
-- another lease, must not cut that one.
-- @include _lock/gone.lua
-- @include _lock/lengthen.lua
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return gone(KEYS[1], ARGV[1])
end
lengthen(KEYS[1], ARGV[2])
return 1
