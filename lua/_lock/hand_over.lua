-- Makes the next owner (ARGV[2]) the only one of the lock (KEYS[1]), for its lease (ARGV[3]); after keep.lua.
-- HSET comes before HDEL: if memory is short it is refused, and the owner still holds. Waiters sleep until the
-- lease they were told ends: of a shorter one they hear (by ARGV[4], on KEYS[2]).
-- @include _publish/tell.lua
if held then
  redis.call('hset', KEYS[1], ARGV[2], '1')
  redis.call('hdel', KEYS[1], ARGV[1])
end
local before = redis.call('pttl', KEYS[1])
redis.call('pexpire', KEYS[1], ARGV[3])
if before < 0 or before > tonumber(ARGV[3]) then
  tell(ARGV[4], KEYS[2], '0')
end
