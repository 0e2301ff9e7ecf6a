-- Hands the lock from its owner to the next one; it is never free between the two.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- KEYS[2]  channel: where waiters listen
-- ARGV[1]  owner: who holds it, with however many holds
-- ARGV[2]  next: who gets it, with one hold; another owner than ARGV[1]
-- ARGV[3]  lease: of the next owner, ms, 1 to 2^53
-- ARGV[4]  publish: the command that reaches the waiters, "publish" or "spublish"
-- returns  1: the next owner holds it; a repeat says so too
-- returns  nil: the owner does not hold it; nothing changed
--
-- HSET comes before HDEL: if memory is short it is refused, and the owner still holds. Of a lease that
-- ends sooner than what they were told, the waiters must hear ("0").
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  redis.call('hset', KEYS[1], ARGV[2], '1')
  redis.call('hdel', KEYS[1], ARGV[1])
elseif redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return nil
end
local before = redis.call('pttl', KEYS[1])
redis.call('pexpire', KEYS[1], ARGV[3])
if before < 0 or before > tonumber(ARGV[3]) then
  redis.call(ARGV[4], KEYS[2], '0')
end
return 1
