-- Announces that the leader leads no more, before it releases the lock.
-- KEYS[1]  state: the leader's hash
-- KEYS[2]  channel: to which observers subscribe
-- ARGV[1]  owner: the leader, "uuid:number"
-- ARGV[2]  publish: the command that reaches the observers, "publish", "spublish" or "both"
-- returns  1: done
-- returns  0: another one is announced, or none; nothing changed
--
-- Removing takes no memory, so it works on a server that has none left.
-- @include _publish/notify.lua
if redis.call('hget', KEYS[1], 'owner') ~= ARGV[1] then
  return 0
end
redis.call('del', KEYS[1])
notify(ARGV[2], KEYS[2], '0')
return 1
