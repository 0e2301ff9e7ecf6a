-- Says how the barrier is; it changes nothing.
-- KEYS[1]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- KEYS[2]  state: the barrier's hash
-- returns  {>= 0, 0}: how many parties wait
-- returns  {0, 1}: it is broken, or a party that waited has died
-- returns  error: WRONGTYPE: a key is another program's
-- @include _barrier/parties.lua
-- @include _revision/foreign.lua
local theirs = foreign(KEYS[2])
if theirs then
  return theirs
end
local of = parties(KEYS[1], KEYS[2])
if of.dead_waiting > 0 or redis.call('hexists', KEYS[2], 'broken') == 1 then
  return {0, 1}
end
return {of.number, 0}
