--!df flags=allow-undeclared-keys
-- Releases one write hold; the last one frees the lock, or leaves it to the owner's read holds, and
-- wakes the waiters.
-- KEYS[1]  name: the lock's hash, mode and owner -> hold count
-- KEYS[2]  channel: to which waiters subscribe
-- KEYS[3]  prefix: what the name's timeout keys begin with
-- ARGV[1]  owner: the releasing owner, "uuid:number"
-- ARGV[2]  count: the write holds that remain, 0 to end writing
-- ARGV[3]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  >= 1: freed, "1" is published; one more than the subscribers that received it
-- returns  0: still held, count times; or only read from now on, and "1" is published
-- returns  nil: the owner does not write; nothing changed
--
-- Freeing takes no memory, and after HDEL nothing is refused for the lack of it.
-- @include _publish/notify.lua
-- @include _read_write_lock/timeout.lua
local name, owner = KEYS[1], ARGV[1]
local field = owner .. ':write'

if ARGV[2] ~= '0' then
  if redis.call('hexists', name, field) == 0 then
    return nil
  end
  redis.call('hset', name, field, ARGV[2])
  return 0
end

if redis.call('hdel', name, field) == 0 then
  return nil
end
if redis.call('hexists', name, owner) == 1 then
  local left = redis.call('pttl', timeout(KEYS[3], owner, 1))
  if left > 0 then
    redis.call('hset', name, 'mode', 'read')
    redis.call('pexpire', name, left)
    notify(ARGV[3], KEYS[2], '1')
    return 0
  end
end
redis.call('del', name)
return 1 + notify(ARGV[3], KEYS[2], '1')
