-- micros(): the server's clock, in µs.
local function micros()
  local time = redis.call('time')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end
