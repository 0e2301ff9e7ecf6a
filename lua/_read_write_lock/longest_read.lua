-- @include _read_write_lock/timeout.lua
-- The ms that the longest of all read holds has left, 0 when none lives. For a lock in mode read; it
-- removes the owners whose time is over.
local function longest_read(name, prefix)
  local longest = 0
  local fields = redis.call('hgetall', name)
  for i = 1, #fields, 2 do
    local owner, left = fields[i], 0
    if owner ~= 'mode' then
      for n = 1, tonumber(fields[i + 1]) do
        left = math.max(left, redis.call('pttl', timeout(prefix, owner, n)))
      end
      if left == 0 then
        redis.call('hdel', name, owner)
      end
      longest = math.max(longest, left)
    end
  end
  return longest
end
