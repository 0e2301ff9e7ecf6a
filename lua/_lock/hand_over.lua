-- Makes the next owner (ARGV[2]) the only one of the lock (KEYS[1]), for its lease (ARGV[3]), and publishes a shorter
-- one (by ARGV[4], on KEYS[2]); after keep.lua. HSET comes before HDEL: if memory is short it is refused, and the
-- owner still holds.
-- @include _publish/notify.lua
-- @include _lock/set_lease.lua
if held then
  redis.call('hset', KEYS[1], ARGV[2], '1')
  redis.call('hdel', KEYS[1], ARGV[1])
end
if set_lease(KEYS[1], ARGV[3]) then
  notify(ARGV[4], KEYS[2], '0')
end
