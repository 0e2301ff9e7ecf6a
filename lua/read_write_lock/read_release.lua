--!df flags=allow-undeclared-keys
-- Releases one read hold; the last one of all frees the lock and wakes the waiters.
-- KEYS[1]  name: the lock's hash, mode and owner -> hold count
-- KEYS[2]  channel: to which waiters subscribe
-- KEYS[3]  prefix: what the name's timeout keys begin with
-- ARGV[1]  owner: the releasing owner, "uuid:number"
-- ARGV[2]  count: the read holds that remain, 0 to leave the lock
-- ARGV[3]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  >= 1: freed, "0" is published; one more than the subscribers that received it
-- returns  0: still held, by this owner or others; if the lock's lease is shorter then, "0" is published
-- returns  nil: the owner has no read hold; only timeout keys that it had left behind are removed
--
-- While others read, the lease falls to the longest that they have left; readers whose time is over do not count.
-- While the owner writes it stays: it is the writer's too. It works on a server that is out of memory: nothing but
-- the first write of a script is refused there, and DEL never.
-- @include _read_write_lock/follow_readers.lua
local name, prefix, owner, count = KEYS[1], KEYS[3], ARGV[1], tonumber(ARGV[2])
local held = redis.call('hexists', name, owner) == 1
local shared = held and redis.call('hlen', name) > 2 -- it reads beside others, or writes too
local left = shared and redis.call('pttl', timeout(prefix, owner, 1))

-- Two at once: of most owners only the first is there.
local n = held and count or 0
repeat
  n = n + 2
until redis.call('del', timeout(prefix, owner, n - 1), timeout(prefix, owner, n)) < 2
if not held then
  return nil
elseif count > 0 then
  redis.call('hset', name, owner, count)
  return 0
end

if shared then
  redis.call('hdel', name, owner)
  -- A hold that was not the longest changes nothing for the others.
  if redis.call('hget', name, 'mode') == 'write' or redis.call('pttl', name) > left + slack
    or follow_readers(name, prefix, ARGV[3], KEYS[2]) then
    return 0
  end
end
redis.call('del', name)
return 1 + notify(ARGV[3], KEYS[2], '0')
