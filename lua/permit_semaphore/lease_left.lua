-- Says how long a permit lives yet.
-- KEYS[1]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- ARGV[1]  permit: the id of the permit, 16 bytes
-- returns  >= 1: ms until it expires
-- returns  -1: it never expires, as a permit of Redisson without a lease
-- returns  nil: it is not out, or has expired
local NEVER = 922337203685477
-- @include _permit_semaphore/now.lua
local ends = redis.call('zscore', KEYS[1], ARGV[1])
if not ends or ends + 0 <= now then
  return nil
end
return ends + 0 >= NEVER and -1 or ends - now
