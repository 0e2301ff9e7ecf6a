-- Ends the wait of a party; one that has not passed breaks the barrier for all.
-- KEYS[1]  name: the counter of the semaphore whose permits the parties hold
-- KEYS[2]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- KEYS[3]  state: the barrier's hash
-- KEYS[4]  channel: to which those that wait subscribe
-- ARGV[1]  permit: of the party, 16 bytes
-- ARGV[2]  rest: ms for which the semaphore stays once no party is left
-- ARGV[3]  publish: the command that reaches the parties, "publish", "spublish" or "both"
-- returns  list: 2 and its place: it has passed
--          -2, 0: the barrier is broken
--          -3, 0: it does not wait, as a party that has left; nothing changed
-- returns  error: WRONGTYPE: a key is another program's; nothing changed
-- @include _barrier/parties.lua
local own = 'party:' .. ARGV[1]
local said = redis.call('hget', KEYS[3], own)
if not said then
  return {-3, 0}
end
redis.call('hdel', KEYS[3], own)
local of = parties(KEYS[2], KEYS[3]) -- the others
local mark = string.sub(said, 1, 1)
if mark == 'w' then
  break_barrier(KEYS[3], of, KEYS[4], ARGV[3])
end
drop_dead(KEYS[3], of)
if of.live == 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  redis.call('pexpire', KEYS[2], ARGV[2])
  if mark == 'p' and redis.call('hexists', KEYS[3], 'broken') == 0 then
    redis.call('del', KEYS[3])
  end
end
if mark == 'p' then
  return {2, tonumber(string.sub(said, 2))}
end
return {-2, 0}
