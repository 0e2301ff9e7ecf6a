-- Mints the next token from a counter: greater than all before it, as decimal text (a number of Lua is exact
-- up to 2^53 only, the counter up to 2^63).
--
-- It is at least the server's clock in microseconds. Otherwise a counter that the server has lost, or restored from
-- an old copy (a failover, a backup), would return a token twice. INCR comes first: on a key that is not a counter,
-- and on a server out of memory, it fails without an effect.
local function mint(counter)
  local token = redis.call('incr', counter)
  local time = redis.call('time')
  local clock = tonumber(time[1]) * 1000000 + tonumber(time[2])
  if token < clock then
    redis.call('incrby', counter, string.format('%.0f', clock - token))
  end
  return redis.call('get', counter)
end
