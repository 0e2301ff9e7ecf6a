-- Keeps the hold alive that is under one of two owners, because a step that was to move it has no answer.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- ARGV[1]  owner: the expected owner, "uuid:number"
-- ARGV[2]  other: the owner that the hold may have by now
-- ARGV[3]  lease: ms from now, 1 to 2^53
-- returns  1: the key lives for the lease or longer
-- returns  0: neither of them holds it; nothing changed
-- @include _lock/gone.lua
-- @include _lock/lengthen.lua
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return gone(KEYS[1], ARGV[1])
end
lengthen(KEYS[1], ARGV[3])
return 1
