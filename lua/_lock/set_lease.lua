-- Sets the lease of a lock anew; true if it falls. Waiters sleep until the lease they were told ends: of a shorter
-- one they must hear.
local function set_lease(name, lease)
  local before = redis.call('pttl', name)
  redis.call('pexpire', name, lease)
  return before < 0 or before > tonumber(lease)
end
