-- first_waiter() drops those at the head of the line whose time is over: KEYS[2] is the line, KEYS[3] tells
-- until when each one counts as alive. ARGV[1], if it stands there, is alive: it asks. It returns the first of
-- those who wait, false when nobody does. An entry without a time is nobody's, so it goes too.
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
