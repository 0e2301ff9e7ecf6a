-- Sets the lease of a lock anew. Waiters sleep until the lease they were told ends: of a shorter one they hear by
-- `message`.
local function set_lease(name, lease, publish, channel, message)
  local before = redis.call('pttl', name)
  redis.call('pexpire', name, lease)
  if before < 0 or before > lease then
    redis.call(publish, channel, message)
  end
end
