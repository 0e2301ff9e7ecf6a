-- Writes the owner's holds (ARGV[1], ARGV[3]) and lease (ARGV[2]) into the lock (KEYS[1]); after refuse.lua.
redis.call('hset', KEYS[1], ARGV[1], ARGV[3])
if rises then
  redis.call('pexpire', KEYS[1], ARGV[2])
end
