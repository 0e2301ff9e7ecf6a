--!df flags=allow-undeclared-keys
-- Keeps the read holds of many owners alive, and of these owners only: they live for the lease from now on, at least.
-- KEYS[1...]  names: three for each owner: the lock's hash, mode and owner -> hold count; what the name's timeout keys
--          begin with; the timeout key of the owner's first read hold. At most some dozens, and of one slot
-- ARGV[1]  lease: ms from now, 1 to 2^53
-- ARGV[2...]  owners: who should read, "uuid:number", one for each three keys
-- returns  {left, ...}: for each owner the ms that its holds had left before, 1 or more: they live for the lease or
--          longer; 0: it has no read hold, or its time is over, and nothing changed
--
-- Another program's reader may have set the lease of the lock, or of all readers, to less: the reply shows it. A key of
-- another type ends the script with an error: the holds before it are renewed then.
-- @include _lock/gone.lua
-- @include _lock/lengthen.lua
-- @include _read_write_lock/timeout.lua
local GONE = -2
local function renew(name, prefix, first, owner, lease)
  local count = redis.call('hget', name, owner)
  local left = redis.call('pttl', first)
  if not count or left == GONE then
    return gone(name, '')
  end
  local whole = lengthen(name, lease)
  if left < lease then
    for n = 1, tonumber(count) do
      redis.call('pexpire', timeout(prefix, owner, n), lease)
    end
    redis.call('pttl', first)
  end
  -- A key that another program has made to stay for ever is not about to end.
  whole, left = whole < 0 and lease or whole, left < 0 and lease or left
  return math.max(1, math.min(whole, left))
end
local found = {}
for i = 1, #ARGV - 1 do
  found[i] = renew(KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i], ARGV[i + 1], tonumber(ARGV[1]))
end
return found
