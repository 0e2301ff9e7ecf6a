-- free: the number of free permits, including those that have expired. The latter are published, because expiry
-- itself sends no message. Needs `publish`, the command, and `counter`.
-- The counter is read before anything is written; removing comes first, because it needs no memory.
-- @include _publish/notify.lua
-- @include _permit_semaphore/now.lua
local free = (counter or 0) + 0
local expired = redis.call('zcount', KEYS[2], '-inf', now)
if expired > 0 then
  redis.call('zremrangebyscore', KEYS[2], '-inf', now)
  free = redis.call('incrby', KEYS[1], expired)
  if free > 0 then
    notify(publish, KEYS[3], free)
  end
end
