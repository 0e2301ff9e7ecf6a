-- write(timeouts): removes nothing; but what follows the first write of a script is not refused for lack of memory, and
-- this one never is.
local function write(timeouts)
  redis.call('zremrangebyscore', timeouts, '-inf', '(-inf')
end
