-- How long the read holds of an owner still last; it changes nothing.
-- KEYS[1]  name: the lock's hash, mode and owner -> hold count
-- KEYS[2]  first: the timeout key of the owner's first read hold
-- ARGV[1]  owner: who should read, "uuid:number"
-- returns  >= 1: the ms that are left of the lease, of the lock's or the owner's
-- returns  0: the owner has no read hold, or its time is over
-- returns  -1: the owner reads, and neither lease ends
-- @include _lock/gone.lua
local GONE = -2
local held = redis.call('hexists', KEYS[1], ARGV[1]) == 1
local left = redis.call('pttl', KEYS[2])
if not held or left == GONE then
  return gone(KEYS[1], '')
end
local whole = redis.call('pttl', KEYS[1])
if left < 0 or whole >= 0 and whole < left then
  left = whole
end
return left < 0 and -1 or math.max(1, left)
