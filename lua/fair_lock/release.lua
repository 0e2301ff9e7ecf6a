-- Releases one hold; the last one frees the lock and wakes the first in the queue. For an owner that waits for the
-- lock instead, it releases the place in the queue.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- KEYS[2]  queue: the waiters, a list of owners
-- KEYS[3]  timeouts: until when each of them counts as alive, ms since 1970; a sorted set
-- KEYS[4]  channel: with ":" and an owner behind it, the channel of that waiter
-- ARGV[1]  owner: the releasing owner, "uuid:number"
-- ARGV[2]  count: the holds that remain, 0 to free the lock
-- ARGV[3]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  >= 1: freed, the first in the queue is sent "0"; one more than the subscribers that received it
-- returns  0: still held, count times; the lease runs on as it was
-- returns  nil: the owner does not hold it
--
-- Neither freeing nor leaving the line takes memory (HDEL, ZREM, LREM, LPOP, PUBLISH), so both work on a server
-- that has none left. If the first live waiter leaves while the lock is free, it was its turn: the next waiter is
-- woken.
-- @include _publish/notify.lua
if ARGV[2] ~= '0' then
  if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return nil
  end
  redis.call('hset', KEYS[1], ARGV[1], ARGV[2])
  return 0
end

-- @include _fair_lock/head.lua
local freed = redis.call('hdel', KEYS[1], ARGV[1]) == 1
local is_free = freed or redis.call('pttl', KEYS[1]) == -2
local head = is_free and first_waiter()
if not freed then
  redis.call('zrem', KEYS[3], ARGV[1])
  redis.call('lrem', KEYS[2], 0, ARGV[1])
  if head ~= ARGV[1] then
    return nil
  end
  head = first_waiter()
end
local receivers = head and notify(ARGV[3], KEYS[4] .. ':' .. head, '0') or 0
return freed and 1 + receivers or nil
