-- now: ms since 1970, by the server's clock.
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
