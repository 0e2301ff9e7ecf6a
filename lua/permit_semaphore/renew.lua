-- Keeps permits alive: each lives for the lease from now on, at least.
-- KEYS[1...]  timeouts: of each permit the sorted set that has it, id -> ms since 1970 at which it expires; at most some
--          dozens, and of one slot
-- ARGV[1]  lease: ms from now, 1 to 2^53
-- ARGV[2...]  permits: their ids, 16 bytes each
-- returns  {i, ...}: the numbers, from 1 on, of those that are not out, or have expired; of these nothing changed, and
--          the others live for the lease or longer
--
-- What was written is read once more, as by _lock/lengthen.lua. A key of another type ends the script with an error: the
-- permits before it are renewed then.
-- @include _permit_semaphore/now.lua
-- @include _permit_semaphore/write.lua
local until_then, lost = now + ARGV[1], {}
for i, key in ipairs(KEYS) do
  local permit = ARGV[i + 1]
  local ends = redis.call('zscore', key, permit)
  if not ends or ends + 0 < until_then then
    -- A replica refuses this: what its data lack, as in a failover, is not lost.
    write(key)
    if not ends or ends + 0 <= now then
      lost[#lost + 1] = i
    else
      redis.call('zadd', key, until_then, permit)
      redis.call('zscore', key, permit)
    end
  end
end
return lost
