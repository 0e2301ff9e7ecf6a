-- Makes the next owner (ARGV[2]) the only one of the lock (KEYS[1]), for its lease (ARGV[3]); after keep.lua.
-- HSET comes before HDEL: if memory is short it is refused, and the owner still holds.
if held then
  redis.call('hset', KEYS[1], ARGV[2], '1')
  redis.call('hdel', KEYS[1], ARGV[1])
end
redis.call('pexpire', KEYS[1], ARGV[3])
