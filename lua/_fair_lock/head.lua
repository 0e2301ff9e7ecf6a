-- Drops those at the head of the line whose time is over: KEYS[2] is the line, KEYS[3] tells until when each
-- one counts as alive. ARGV[1], if it stands there, is alive: it asks. Afterwards `head` is the first of those
-- who wait, false when nobody does. An entry without a time is nobody's, so it goes too.
local function clock()
  local time = redis.call('time')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local now
local head = redis.call('lindex', KEYS[2], 0)
while head and head ~= ARGV[1] do
  now = now or clock()
  local alive = redis.call('zscore', KEYS[3], head)
  if alive and tonumber(alive) > now then
    break
  end
  redis.call('zrem', KEYS[3], head)
  redis.call('lpop', KEYS[2])
  head = redis.call('lindex', KEYS[2], 0)
end
