-- Writes the owner's first hold (ARGV[1]) and lease (ARGV[2]) into the lock (KEYS[1]); after wait_in_line.lua. A longer
-- lease that still runs is kept.
redis.call('hset', KEYS[1], ARGV[1], '1')
if ttl < tonumber(ARGV[2]) then
  redis.call('pexpire', KEYS[1], ARGV[2])
end
