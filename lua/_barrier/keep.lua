-- keep(key, ms): the key lives for that long from now on, or longer.
local function keep(key, ms)
  if redis.call('pttl', key) < ms then
    redis.call('pexpire', key, string.format('%.0f', ms))
  end
end
-- REST: ms for which the keys of a barrier stay once the last lease of a party is over.
local REST = 3600000
-- FEWEST: permits of a barrier's semaphore, in use and free; that of another kind has fewer.
local FEWEST = 2 ^ 30
