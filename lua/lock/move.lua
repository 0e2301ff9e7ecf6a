-- Gives the hold of one owner to another, with a new lease; the lock is never free between the two.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- KEYS[2]  channel: to which waiters subscribe
-- ARGV[1]  owner: the present owner, once
-- ARGV[2]  next: the owner afterwards; another owner than ARGV[1]
-- ARGV[3]  lease: ms from now, 1 to 2^53
-- ARGV[4]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  >= -1: next holds it for the lease; the ms that were left before, -1 if that is not known because next
--          held it already (a repeat); if the lease is shorter, "0" is published
-- returns  nil: neither of them holds it; nothing changed

-- @include _lock/keep.lua
local left = held and redis.call('pttl', KEYS[1]) or -1
-- @include _lock/hand_over.lua
return left
