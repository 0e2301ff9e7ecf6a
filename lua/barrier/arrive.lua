-- Lets a party wait at the barrier, or says what has become of its wait. The last party lets all pass.
-- KEYS[1]  name: the counter of the semaphore whose permits the parties hold
-- KEYS[2]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- KEYS[3]  state: the barrier's hash: revision, until, parties, broken, and two fields for each party
-- KEYS[4]  channel: to which those that wait subscribe
-- ARGV[1]  permit: of the party, 16 bytes
-- ARGV[2]  parties: how many have to wait
-- ARGV[3]  waits: 1; or 0 for a party that waits no longer: it has passed by now, or breaks the barrier
-- ARGV[4]  holder: who the party is
-- ARGV[5]  publish: the command that reaches the parties, "publish", "spublish" or "both"
-- returns  {1, >= 0, any}: it waits; its place and the revision; the state is over when a party may have died
-- returns  {2, >= 0, 0}: it has passed; its place
-- returns  {-1, any, 0}: this is the number of parties; nothing changed
-- returns  {-2, 0, 0}: the barrier is broken
-- returns  {-3, 0, 0}: the permit is not in use; nothing changed
-- returns  {-4, any, 0}: the name has a semaphore with this number of permits; nothing changed
-- returns  error: WRONGTYPE: a key is another program's; nothing changed
--
-- A repeat finds its party. A party that has died, which another one finds by this step, breaks the barrier.
-- @include _request/counter.lua
-- @include _barrier/parties.lua
-- @include _revision/foreign.lua
-- @include _revision/now.lua
local theirs = foreign(KEYS[3])
if theirs then
  return theirs
end
local own = 'party:' .. ARGV[1]
local said = redis.call('hmget', KEYS[3], own, 'broken', 'parties', 'until')
local mark, place = wait_of(said[1])
if said[1] and not mark then
  return redis.error_reply('WRONGTYPE a party that no client wrote')
elseif mark == 'p' then
  return {2, place, 0}
end
local of = parties(KEYS[2], KEYS[3])
local ends = redis.call('zscore', KEYS[2], ARGV[1])
if not ends or ends + 0 <= now then
  return {-3, 0, 0}
end
ends = math.min(ends, 2 ^ 53)
local permits = (counter or 0) + redis.call('zcard', KEYS[2])
if mark ~= 'w' and permits < FEWEST then
  return {-4, permits, 0}
end
if mark == 'b' or (said[2] and mark ~= 'w') then
  return {-2, 0, 0}
end
if of.dead_waiting > 0 then
  break_barrier(KEYS[3], of, KEYS[4], ARGV[5])
  drop_dead(KEYS[3], of)
  return {-2, 0, 0}
end
if of.live > 0 and said[3] and said[3] ~= ARGV[2] then
  return {-1, said[3] + 0, 0}
end
if mark ~= 'w' then
  place = of.number
  redis.call('hset', KEYS[3], own, 'w' .. place, 'who:' .. ARGV[1], ARGV[4], 'parties', ARGV[2])
  redis.call('hdel', KEYS[3], 'owner') -- of a leader of this name that has died
  drop_dead(KEYS[3], of)
  for _, key in ipairs({KEYS[1], KEYS[2], KEYS[3]}) do
    keep(key, ends - now + REST)
  end
  of.waiting[own] = tostring(place)
  of.number = place + 1
  of.next_end = math.min(of.next_end or ends, ends)
end
if of.number >= ARGV[2] + 0 then
  end_waits(KEYS[3], of, 'p')
  change(KEYS[3], KEYS[4], ARGV[5])
  return {2, place, 0}
end
if ARGV[3] == '0' then
  break_barrier(KEYS[3], of, KEYS[4], ARGV[5])
  return {-2, 0, 0}
end
redis.call('hset', KEYS[3], 'until', string.format('%.0f', of.next_end))
if not said[4] or of.next_end < said[4] + 0 then
  change(KEYS[3], KEYS[4], ARGV[5])
end
return {1, place, (revision_now(KEYS[3], KEYS[1]))}
