-- Keeps the permits of parties alive, and the keys of their barriers: each permit lives for the lease from now on, at
-- least.
-- KEYS[1...]  keys: of each party the counter, the set of the permits that are out and the barrier's state; at most some
--          dozens, and of one slot
-- ARGV[1]  lease: ms from now, 1 to 2^53
-- ARGV[2...]  permits: their ids, 16 bytes each
-- returns  {i, ...}: the numbers, from 1 on, of those that are not out, or have expired; of these nothing changed, and
--          the others live for the lease or longer
--
-- As permit_semaphore/renew. The keys of a permit that is no party are left as they are: they may be another kind's.
-- @include _permit_semaphore/now.lua
-- @include _permit_semaphore/write.lua
-- @include _barrier/keep.lua
local until_then, lost = now + ARGV[1], {}
local function renew(name, timeouts, state, permit)
  local ends = redis.call('zscore', timeouts, permit)
  if ends and ends + 0 >= until_then then
    return true
  end
  write(timeouts)
  if not ends or ends + 0 <= now then
    return false
  end
  redis.call('zadd', timeouts, until_then, permit)
  redis.call('zscore', timeouts, permit)
  if redis.pcall('hexists', state, 'party:' .. permit) == 1 then
    for _, key in ipairs({name, timeouts, state}) do
      keep(key, ARGV[1] + REST)
    end
  end
  return true
end
for i = 1, #ARGV - 1 do
  if not renew(KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i], ARGV[i + 1]) then
    lost[#lost + 1] = i
  end
end
return lost
