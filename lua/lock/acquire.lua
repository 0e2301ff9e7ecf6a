-- Grants the lock to an owner, or says how long the holder's lease still runs.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- ARGV[1]  owner: the requesting owner, "uuid:number"
-- ARGV[2]  lease: ms, 1 to 2^53
-- ARGV[3]  count: the holds the owner has once this one is granted, 1 for a first hold
-- returns  nil: granted
-- returns  >= -1: refused, the key's remaining ms (-1: another's key that never expires)
-- returns  -3: count is above 1 but the earlier holds are gone; nothing changed
--
-- The owner knows its count, so the count is set, not added to: a repeat means the same.
-- A key of another type fails in HGET, before anything is written.

-- @include _lock/refuse.lua
-- @include _lock/hold.lua
return nil
