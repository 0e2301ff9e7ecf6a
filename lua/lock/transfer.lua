-- Hands the lock from its owner to the next one; it is never free between the two.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- ARGV[1]  owner: who holds it, with however many holds
-- ARGV[2]  next: who gets it, with one hold; another owner than ARGV[1]
-- ARGV[3]  lease: of the next owner, ms, 1 to 2^53
-- returns  1: the next owner holds it; a repeat says so too
-- returns  nil: the owner does not hold it; nothing changed
--
-- HSET comes before HDEL: if memory is short it is refused, and the owner still holds.
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  redis.call('hset', KEYS[1], ARGV[2], '1')
  redis.call('hdel', KEYS[1], ARGV[1])
elseif redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return nil
end
redis.call('pexpire', KEYS[1], ARGV[3])
return 1
