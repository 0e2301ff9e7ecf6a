-- Breaks the barrier for the parties that wait, and mends it for those that come. What a leader of this name has
-- announced stays.
-- KEYS[1]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- KEYS[2]  state: the barrier's hash
-- KEYS[3]  channel: to which those that wait subscribe
-- ARGV[1]  publish: the command that reaches the parties, "publish", "spublish" or "both"
-- returns  1: it is mended
-- returns  error: WRONGTYPE: a key is another program's; nothing changed
-- @include _barrier/parties.lua
-- @include _revision/foreign.lua
local theirs = foreign(KEYS[2])
if theirs then
  return theirs
end
local of = parties(KEYS[1], KEYS[2])
redis.call('hdel', KEYS[2], 'broken')
drop_dead(KEYS[2], of)
local led = redis.call('hexists', KEYS[2], 'owner') == 1
if of.live == 0 and not led then
  redis.call('del', KEYS[2])
elseif of.number > 0 then
  for _, field in ipairs(of.dead) do
    of.waiting[field] = nil
  end
  end_waits(KEYS[2], of, 'b')
  change(KEYS[2], KEYS[3], ARGV[1])
end
return 1
