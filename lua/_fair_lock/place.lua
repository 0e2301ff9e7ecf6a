-- Gives ARGV[1] a place at the end of the line, or makes the one it has last for another `queue_timeout` ms from
-- now on. Follows head.lua, and expects `ttl`, the lock's. Afterwards `free` is when it could be this owner's
-- turn at the earliest, in ms from now: when the lease and the time of all who stand before it are over.
--
-- A waiter of ours says now and then that it lives, so its time counts from the last sign of that, wherever
-- in the line it stands. One of Redisson's says nothing: its time is that of who stood before it and its own
-- queue_timeout, which it takes off the times of all behind it when it leaves the line for whatever reason. Behind
-- such a waiter a place has to last for that much longer. The owner's number tells them apart: ours lie from
-- 2^40 up to 2^52, Redisson's are the ids of Java's threads, far below.
--
-- ZREM comes before ZADD: who has a place keeps it on a server that is out of memory.
local REDISSONS_QUEUE_TIMEOUT = 300000
local function is_ours(waiter)
  local number = tonumber(string.match(waiter, ':(%d+)$') or 0)
  return number >= 1099511627776 and number < 4503599627370496
end
local alive, free, placed = {}, ttl, false
local timeouts = redis.call('zrange', KEYS[3], 0, -1, 'withscores')
for index = 1, #timeouts, 2 do
  alive[timeouts[index]] = tonumber(timeouts[index + 1])
end
now = now or clock()
local mine = now + queue_timeout
for _, waiter in ipairs(redis.call('lrange', KEYS[2], 0, -1)) do
  if waiter == ARGV[1] then
    placed = true
    break
  end
  local theirs = alive[waiter] or now
  free = math.max(free, theirs - now)
  if not is_ours(waiter) then
    mine = math.max(mine, math.max(theirs, now) + REDISSONS_QUEUE_TIMEOUT + queue_timeout)
  end
end
if placed then
  redis.call('zrem', KEYS[3], ARGV[1])
end
redis.call('zadd', KEYS[3], string.format('%.0f', mine), ARGV[1])
if not placed then
  redis.call('rpush', KEYS[2], ARGV[1])
end
