-- Sets the owner's lease anew, shorter or longer than what is left of it.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- ARGV[1]  owner: who should hold it, "uuid:number"
-- ARGV[2]  lease: ms from now, 1 to 2^53
-- returns  1: the key lives for the lease from now on
-- returns  0: the owner does not hold it; nothing changed
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return 0
end
return redis.call('pexpire', KEYS[1], ARGV[2])
