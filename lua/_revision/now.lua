-- revision_now(state, lock): the revision of a state, and the ms until it may change without a message, -1: it does
-- not. The revision is 0 without a state, and below 0 once the time of its latest change is over:
--   a state with a field "owner" is over when that owner does not hold the lock,
--   a state with a field "until" is over at that moment, in ms of the server's clock.
local function revision_now(state, lock)
  local fields = redis.call('hmget', state, 'revision', 'owner', 'until')
  local revision = (fields[1] or 0) + 0
  local left = -1
  if fields[2] then
    if redis.call('hexists', lock, fields[2]) == 0 then
      return -revision, -1
    end
    left = redis.call('pttl', lock)
  end
  if fields[3] then
    local time = redis.call('time')
    local rest = tonumber(fields[3]) - (tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
    if rest <= 0 then
      return -revision, -1
    end
    left = left < 0 and rest or math.min(left, rest)
  end
  return revision, left
end
