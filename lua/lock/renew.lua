-- Keeps the holds of many locks alive: each key lives for the lease from now on, at least.
-- KEYS[1...]  names: the locks' hashes, owner -> hold count; at most some dozens, and of one slot
-- ARGV[1]  lease: ms from now, 1 to 2^53
-- ARGV[2...]  owners: the expected owner of each lock, "uuid:number"
-- returns  {i, ...}: the numbers, from 1 on, of the locks that their owner does not hold; of these nothing changed, and
--          the others live for the lease or longer
--
-- A longer lease that still runs is kept: a renewal that arrives late, after the owner has set
-- another lease, must not cut that one. A key of another type ends the script with an error: the locks before it are
-- renewed then.
-- @include _lock/gone.lua
-- @include _lock/lengthen.lua
local lost = {}
for i, key in ipairs(KEYS) do
  local owner = ARGV[i + 1]
  if redis.call('hexists', key, owner) == 1 then
    lengthen(key, ARGV[1])
  else
    gone(key, owner)
    lost[#lost + 1] = i
  end
end
return lost
