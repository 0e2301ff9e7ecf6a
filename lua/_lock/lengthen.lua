-- lengthen(key, lease): the key lives for the lease or longer; returns the ms that it had left before. A key that was
-- written is read once more: for a connection with CLIENT TRACKING and NOLOOP its write ends, without a message, what a
-- reading has begun.
local function lengthen(key, lease)
  local left = redis.call('pttl', key)
  if left < tonumber(lease) then
    redis.call('pexpire', key, lease)
    redis.call('pttl', key)
  end
  return left
end
