--!df flags=allow-undeclared-keys
-- Keeps the read holds of this owner only alive: they live for the lease from now on, at least.
-- KEYS[1]  name: the lock's hash, mode and owner -> hold count
-- KEYS[2]  prefix: what the name's timeout keys begin with
-- KEYS[3]  first: the timeout key of the owner's first read hold
-- ARGV[1]  owner: who should read, "uuid:number"
-- ARGV[2]  lease: ms from now, 1 to 2^53
-- returns  >= 1: the holds live for the lease or longer; the ms that they had left before
-- returns  0: the owner has no read hold, or its time is over; nothing changed
--
-- Another program's reader may have set the lease of the lock, or of all readers, to less: the reply shows it.
-- @include _lock/gone.lua
-- @include _lock/lengthen.lua
-- @include _read_write_lock/timeout.lua
local GONE = -2
local name, lease = KEYS[1], tonumber(ARGV[2])
local count = redis.call('hget', name, ARGV[1])
local left = redis.call('pttl', KEYS[3])
if not count or left == GONE then
  return gone(name, '')
end
local whole = lengthen(name, lease)
if left < lease then
  for n = 1, tonumber(count) do
    redis.call('pexpire', timeout(KEYS[2], ARGV[1], n), lease)
  end
  redis.call('pttl', KEYS[3])
end
-- A key that another program has made to stay for ever is not about to end.
whole, left = whole < 0 and lease or whole, left < 0 and lease or left
return math.max(1, math.min(whole, left))
