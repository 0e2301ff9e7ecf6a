-- Ends the script, where another owner holds the lock (KEYS[1]), with the ms left of that lease and the place that the
-- requesting owner (ARGV[1]) has in the set of waiters (KEYS[2]) from now on; 0: it has none, as it does not want one
-- (ARGV[3]), or as a server out of memory writes nothing. Its former place ends in any case: that may be all that is left
-- of a release that did not get through. `ttl` is then the key's (-2: there is none).
-- @include _direct_lock/micros.lua
local ttl = redis.call('pttl', KEYS[1])
if ttl ~= -2 and not redis.call('hget', KEYS[1], ARGV[1]) then
  local place = ARGV[3] == '1' and micros()
  local added = place and redis.pcall('zadd', KEYS[2], place, ARGV[1])
  if type(added) == 'number' then
    redis.call('pexpire', KEYS[2], 60000)
    return {ttl, place}
  end
  redis.call('zrem', KEYS[2], ARGV[1])
  return {ttl, 0}
end
redis.call('zrem', KEYS[2], ARGV[1])
