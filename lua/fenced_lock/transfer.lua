-- Hands the lock from its owner to the next one, with a token; it is never free between the two.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- KEYS[2]  channel: to which waiters subscribe
-- KEYS[3]  counter: the last token of this name; a string without expiry
-- ARGV[1]  owner: the present owner, with however many holds
-- ARGV[2]  next: who gets it, with one hold; another owner than ARGV[1]
-- ARGV[3]  lease: of the next owner, ms, 1 to 2^53
-- ARGV[4]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  decimal: the next owner holds it; its token; a repeat gives a newer one
-- returns  nil: the owner does not hold it; nothing changed

-- @include _lock/keep.lua
-- @include _fenced_lock/mint.lua
local token = mint(KEYS[3])
-- @include _lock/hand_over.lua
return token
