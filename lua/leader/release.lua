-- Releases the leader's lock, and withdraws what that leader has announced.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- KEYS[2]  lock_channel: to which candidates and observers subscribe
-- KEYS[3]  state: the leader's hash
-- KEYS[4]  channel: to which observers subscribe
-- ARGV[1]  owner: the leader, "uuid:number"; one for each election, with one hold
-- ARGV[2]  publish: the command that reaches the subscribers, "publish", "spublish" or "both"
-- returns  >= 1: freed, "0" is published; one more than the subscribers of the lock's channel that received it
-- returns  nil: the owner does not hold it; what it has announced is withdrawn
-- returns  error: WRONGTYPE: the key is no lock; nothing changed
--
-- Removing takes no memory, so it works on a server that has none left. A state of another program is left alone.
-- @include _publish/notify.lua
local held = redis.call('hdel', KEYS[1], ARGV[1])
if redis.pcall('hget', KEYS[3], 'owner') == ARGV[1] then
  redis.call('del', KEYS[3])
  notify(ARGV[2], KEYS[4], '0')
end
if held == 0 then
  return nil
end
return 1 + notify(ARGV[2], KEYS[2], '0')
