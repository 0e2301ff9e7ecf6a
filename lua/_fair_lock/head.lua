-- first_waiter() drops the waiters at the head of the queue whose time is over: KEYS[2] is the queue, KEYS[3] has
-- the time until which each waiter counts as alive. ARGV[1], if queued, is alive, because it tries. It returns the
-- first waiter, false when there is none. An entry without a time has no live waiter, so it is dropped too.
local function clock()
  local time = redis.call('time')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local now
local function first_waiter()
  local first = redis.call('lindex', KEYS[2], 0)
  while first and first ~= ARGV[1] do
    now = now or clock()
    local alive = redis.call('zscore', KEYS[3], first)
    if alive and tonumber(alive) > now then
      break
    end
    redis.call('zrem', KEYS[3], first)
    redis.call('lpop', KEYS[2])
    first = redis.call('lindex', KEYS[2], 0)
  end
  return first
end
