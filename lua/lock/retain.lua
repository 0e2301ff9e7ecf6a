-- Ends the hold of an owner but keeps the lock closed for a while: the hash has the field of a keeper instead, who
-- never requests the lock.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- KEYS[2]  channel: to which waiters subscribe
-- ARGV[1]  owner: the releasing owner, "uuid:number", with however many holds
-- ARGV[2]  other: the owner that the hold may have by now; the same as ARGV[1] where it was never to be moved
-- ARGV[3]  keeper: the owner afterwards, the owner's "uuid:0"
-- ARGV[4]  time: ms from now during which it is not granted, 1 to 2^53
-- ARGV[5]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  >= 1: the keeper holds it for the time, "0" is published; one more than the subscribers that received it;
--          1 also where the keeper held it already (a repeat): nothing is changed or published then
-- returns  nil: the owner does not hold it; nothing changed
--
-- HDEL comes before HSET: after it nothing is refused for lack of memory. It is published, as by a release:
-- they try again, and learn how long it stays.
-- @include _publish/notify.lua
if redis.call('hdel', KEYS[1], ARGV[1], ARGV[2]) == 0 then
  return redis.call('hexists', KEYS[1], ARGV[3]) == 1 and 1 or nil
end
redis.call('hset', KEYS[1], ARGV[3], '1')
redis.call('pexpire', KEYS[1], ARGV[4])
return 1 + notify(ARGV[5], KEYS[2], '0')
