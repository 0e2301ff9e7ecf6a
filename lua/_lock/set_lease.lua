-- Sets the lease of a lock; true if it becomes shorter. Waiters sleep until the end of the lease that they know: a
-- shorter one must be published.
local function set_lease(name, lease)
  local before = redis.call('pttl', name)
  redis.call('pexpire', name, lease)
  return before < 0 or before > tonumber(lease)
end
