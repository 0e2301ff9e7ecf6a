-- Releases the write hold that is under one of two owners, because a step that was to move it has no answer.
-- KEYS[1]  name: the lock's hash, mode and owner -> hold count
-- KEYS[2]  channel: to which waiters subscribe
-- ARGV[1]  owner: the releasing owner, "uuid:number"; it does not read
-- ARGV[2]  other: the owner that the hold may have by now
-- ARGV[3]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  >= 1: freed, "1" is published; one more than the subscribers that received it
-- returns  nil: neither of them writes; nothing changed
--
-- Freeing takes no memory, so it works on a server that has none left.
-- @include _publish/notify.lua
if redis.call('hdel', KEYS[1], ARGV[1] .. ':write', ARGV[2] .. ':write') == 0 then
  return nil
end
redis.call('del', KEYS[1])
return 1 + notify(ARGV[3], KEYS[2], '1')
