-- Grants the lock to an owner with a token, or says how long the holder's lease still runs.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- KEYS[2]  counter: the last token of this name; a string without expiry
-- ARGV[1]  owner: the requesting owner, "uuid:number"
-- ARGV[2]  lease: ms, 1 to 2^53
-- ARGV[3]  count: the holds the owner has once this one is granted, 1 for a first hold
-- returns  decimal: granted; the token
-- returns  >= -1: refused, the key's remaining ms (-1: another's key that never expires)
-- returns  -3: count is above 1 but the earlier holds are gone; nothing changed
--
-- A repeat mints once more: the token that its owner gets is the last one that the server has given it.

-- @include _lock/refuse.lua
-- @include _fenced_lock/mint.lua
local token = mint(KEYS[2])
-- @include _lock/hold.lua
return token
