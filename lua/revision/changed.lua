-- Says whether a state is another than the caller knows, or when it may become another without a message.
-- KEYS[1]  name: the lock whose owner the state names; of a state without an owner, not read
-- KEYS[2]  state: the hash with the revision; gone: its revision is 0
-- ARGV[1]  known: the revision that the caller knows, as _revision/now.lua counts it
-- returns  nil: another one
-- returns  >= -1: the same; the ms until it may change without a message (-1: it does not)
-- returns  error: WRONGTYPE: the state is another program's; nothing changed
-- @include _revision/foreign.lua
-- @include _revision/now.lua
local theirs = foreign(KEYS[2])
if theirs then
  return theirs
end
local revision, left = revision_now(KEYS[2], KEYS[1])
if revision ~= tonumber(ARGV[1]) then
  return nil
end
return left
