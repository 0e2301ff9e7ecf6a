-- How long the owner's hold still lasts; it changes nothing.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- ARGV[1]  owner: the expected owner, "uuid:number"
-- returns  >= 1: the ms that are left of the lease
-- returns  0: the owner does not hold it
-- returns  -1: the owner holds it, and the key never expires
-- @include _lock/gone.lua
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return gone(KEYS[1], ARGV[1])
end
local left = redis.call('pttl', KEYS[1])
return left < 0 and -1 or math.max(1, left)
