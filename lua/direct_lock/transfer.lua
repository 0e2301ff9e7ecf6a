-- Hands the lock from its owner to the next one, who leaves the line; it is never free between the two.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- KEYS[2]  channel: to which waiters subscribe
-- KEYS[3]  waiters: a sorted set, owner -> place
-- ARGV[1]  owner: the present owner, with however many holds
-- ARGV[2]  next: who gets it, with one hold; another owner than ARGV[1]
-- ARGV[3]  lease: of the next owner, ms, 1 to 2^53
-- ARGV[4]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  1: the next owner holds it; a repeat says so too
-- returns  nil: the owner does not hold it; nothing changed

-- @include _lock/keep.lua
-- @include _lock/hand_over.lua
redis.call('zrem', KEYS[3], ARGV[2])
return 1
