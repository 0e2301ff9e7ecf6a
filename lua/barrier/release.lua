-- Ends the wait of parties and gives their permits back. A party that has not passed breaks the barrier for all.
-- KEYS[1]  name: the counter of the semaphore whose permits the parties hold
-- KEYS[2]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- KEYS[3]  permits_channel: to which waiters for permits subscribe
-- KEYS[4]  state: the barrier's hash
-- KEYS[5]  channel: to which those that wait subscribe
-- ARGV[1]  permits: of the parties, 16 bytes each
-- ARGV[2]  publish: the command that reaches the parties, "publish", "spublish" or "both"
-- returns  >= 1: given back, the new count is published; one more than the subscribers that received the only free permit
-- returns  nil: none is out, or had not expired; of an expired one the counter gets its permit back
-- returns  error: WRONGTYPE: the key is no counter; nothing changed
--
-- Of a state that is another program's only the permits are given back.
--
-- Removing comes first: it needs no memory, and what follows the first write of a script is not refused for the lack of
-- it. Without a party that lives the keys stay for a while only, but the counter of another kind as it is; and a barrier
-- that is not broken leaves no state. A party that has died while it waited breaks it, too.
-- @include _request/counter.lua
-- @include _barrier/parties.lua
-- @include _revision/foreign.lua
-- @include _permit_semaphore/ids.lua
local theirs = foreign(KEYS[4])
local waits, back, live = false, 0, false
for _, id in ipairs(ids(ARGV[1])) do
  if not theirs then
    local said = redis.call('hget', KEYS[4], 'party:' .. id)
    waits = waits or said and string.sub(said, 1, 1) == 'w'
    redis.call('hdel', KEYS[4], 'party:' .. id, 'who:' .. id)
  end
  local ends = redis.call('zscore', KEYS[2], id)
  if ends then
    redis.call('zrem', KEYS[2], id)
    back = back + 1
    live = live or ends + 0 > now
  end
end
local lives = redis.call('zcard', KEYS[2]) > 0
if not theirs then
  local of = parties(KEYS[2], KEYS[4])
  if waits or of.dead_waiting > 0 then
    break_barrier(KEYS[4], of, KEYS[5], ARGV[2])
  end
  drop_dead(KEYS[4], of)
  local stays = redis.call('hmget', KEYS[4], 'broken', 'owner')
  if of.live == 0 and not stays[1] and not stays[2] then
    redis.call('del', KEYS[4])
  end
end
if back == 0 then
  return nil
end
local free = redis.call('incrby', KEYS[1], back)
if not lives and free >= FEWEST then
  redis.call('pexpire', KEYS[1], REST)
  redis.call('pexpire', KEYS[2], REST)
end
local receivers = free > 0 and notify(ARGV[2], KEYS[3], free) or 0
if not live then
  return nil
end
return free == 1 and 1 + receivers or 1
