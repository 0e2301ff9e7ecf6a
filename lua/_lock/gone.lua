-- gone(name, field): 0, the reply for an owner without a hold of the lock. `field`: one that the lock does not have, so
-- HDEL removes nothing; but a replica refuses it with an error: what its data lack, as in a failover, is not lost.
local function gone(name, field)
  redis.call('hdel', name, field)
  return 0
end
