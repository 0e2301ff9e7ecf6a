-- next_expiry(): ms until the next permit that is out expires, -1: none does. Needs `now`.
local NEVER = 922337203685477
local function next_expiry()
  local ends = redis.call('zrange', KEYS[2], 0, 0, 'withscores')[2]
  if not ends or ends + 0 >= NEVER then
    return -1
  end
  return ends - now
end
