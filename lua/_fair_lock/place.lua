-- Gives ARGV[1] a place at the end of the queue, or makes its existing place last for another `queue_timeout` ms
-- from now on. Follows head.lua, and expects `ttl`, the lock's. Afterwards `free` is the earliest time at which it
-- could be this owner's turn, in ms from now: when the lease and the times of all earlier waiters are over.
--
-- A holdfast waiter refreshes its place, so its time counts from the last refresh, wherever it is in the queue. A
-- Redisson waiter does not: its time is that of the waiter before it plus its queue_timeout, which it subtracts
-- from the times of all later waiters when it leaves the queue. Behind such a waiter a place has to last for that
-- much longer. The owner's number shows the library: those of holdfast lie from 2^40 up to 2^52, those of Redisson
-- are the ids of Java threads, far below.
--
-- ZREM comes before ZADD: a waiter keeps its place on a server that is out of memory.
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
