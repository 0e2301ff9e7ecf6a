-- Ends the script if the owner (ARGV[1]) cannot have the lock (KEYS[1]) with the hold count ARGV[3]: with the
-- ms left of another owner's lease, -1 if that never ends, or -3 if earlier holds of the owner are gone.
-- Writes nothing. `ttl` is then the key's (-2: there is none), `lease` the requested ms (ARGV[2]).
local FREE, LOST = -2, -3
local lease = tonumber(ARGV[2])
local ttl = redis.call('pttl', KEYS[1])

if ttl == FREE or not redis.call('hget', KEYS[1], ARGV[1]) then
  if ARGV[3] ~= '1' then
    return LOST
  elseif ttl ~= FREE then
    return ttl
  end
end

-- A longer lease that still runs is kept: a nested hold never cuts the outer one's. Compared before the
-- first write, so that a lease that is no number leaves nothing half done.
local rises = ttl < lease
