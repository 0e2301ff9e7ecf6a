-- Breaks the barrier: for the parties that wait, and for those that come before a reset.
-- KEYS[1]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- KEYS[2]  state: the barrier's hash
-- KEYS[3]  channel: to which those that wait subscribe
-- ARGV[1]  publish: the command that reaches the parties, "publish", "spublish" or "both"
-- returns  1: it is broken
-- returns  error: WRONGTYPE: a key is another program's; nothing changed
-- @include _barrier/parties.lua
-- @include _revision/foreign.lua
local theirs = foreign(KEYS[2])
if theirs then
  return theirs
end
break_barrier(KEYS[2], parties(KEYS[1], KEYS[2]), KEYS[3], ARGV[1])
return 1
