-- change(state, channel, publish): gives a state its next revision, and announces it. The revision is at least the
-- server's clock in microseconds, so that one of a state that was removed does not come again.
-- @include _publish/notify.lua
local function change(state, channel, publish)
  local time = redis.call('time')
  local clock = tonumber(time[1]) * 1000000 + tonumber(time[2])
  local last = tonumber(redis.call('hget', state, 'revision') or '0')
  local revision = string.format('%.0f', math.max(clock, last + 1))
  redis.call('hset', state, 'revision', revision)
  notify(publish, channel, revision)
end
