-- Releases one hold; the last one frees the lock and wakes the waiters.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- KEYS[2]  channel: to which waiters subscribe
-- ARGV[1]  owner: the releasing owner, "uuid:number"
-- ARGV[2]  count: the holds that remain, 0 to free the lock
-- ARGV[3]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  >= 1: freed, "0" is published; one more than the subscribers that received it
-- returns  0: still held, count times; the lease runs on as it was
-- returns  nil: the owner does not hold it; nothing changed
--
-- Freeing takes no memory (HDEL, PUBLISH), so it works on a server that has none left.
-- @include _publish/notify.lua
if ARGV[2] == '0' then
  if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then
    return nil
  end
  return 1 + notify(ARGV[3], KEYS[2], '0')
end

if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return nil
end
redis.call('hset', KEYS[1], ARGV[1], ARGV[2])
return 0
