-- Grants the lock to an owner who holds nothing, with a token, or puts it in line for a release that grants it.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- KEYS[2]  waiters: a sorted set, owner -> place
-- KEYS[3]  counter: the last token of this name; a string without expiry
-- ARGV[1]  owner: the requesting owner, "uuid:number"
-- ARGV[2]  lease: ms, 1 to 2^53
-- ARGV[3]  waits: 1: where it is refused, it gets a place in line; else 0
-- returns  text: granted; the token, decimal
-- returns  {left, place}: refused; the key's remaining ms (-1: it never expires), and the owner's place; 0: it has none

-- @include _direct_lock/wait_in_line.lua
-- @include _fenced_lock/mint.lua
local token = mint(KEYS[3])
-- @include _direct_lock/grant.lua
return token
