-- Sets up the permits (`setup`, ARGV[4]; -1: none) where there is no counter (`counter`); `makes`: it did.
local makes = not counter and setup >= 0
if makes then
  -- First what a server without memory refuses.
  redis.call('set', KEYS[1], ARGV[4])
  -- Permits in use of a counter that is gone are dropped: returned, they would be too many.
  redis.call('del', KEYS[2])
  counter = ARGV[4]
end
