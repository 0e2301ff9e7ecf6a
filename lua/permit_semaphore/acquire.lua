-- Takes permits, all or none, or says when the next one that is out expires.
-- KEYS[1]  name: the counter of free permits
-- KEYS[2]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- KEYS[3]  channel: to which waiters subscribe
-- ARGV[1]  permits: the ids that they are to have, 16 bytes each, made for this acquisition
-- ARGV[2]  lease: ms, 1 to 2^53
-- ARGV[3]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  {left, next}: taken; permits that are free yet, and ms until one that is out expires
-- returns  {-free, next}: refused, of several: too few are free; and ms until one that is out expires, or -1
-- returns  >= 1: none is free; ms until the next one that is out expires
-- returns  -1: none is free, and none that is out expires
-- returns  error: WRONGTYPE: the key is no counter; nothing changed
--
-- Ids that are out already were taken by this step before: a repeat takes no further ones, and starts the
-- lease anew. The set lives as long as the counter, if a program has set that to expire.
local NEVER = 922337203685477
local publish = ARGV[3]
-- @include _permit_semaphore/reclaim.lua
-- @include _permit_semaphore/ids.lua

local function next_expiry()
  local ends = redis.call('zrange', KEYS[2], 0, 0, 'withscores')[2]
  if not ends or ends + 0 >= NEVER then
    return -1
  end
  return ends - now
end

local wanted = ids(ARGV[1])
local known, repeated = {}, false
for i, id in ipairs(wanted) do
  known[i] = redis.call('zscore', KEYS[2], id)
  repeated = repeated or known[i]
end
if not repeated then
  if free < 1 then
    return next_expiry()
  elseif free < #wanted then
    return {-free, next_expiry()}
  end
  free = redis.call('incrby', KEYS[1], -#wanted)
end
local ends = now + ARGV[2]
for i, id in ipairs(wanted) do
  if not repeated or (known[i] and known[i] + 0 < ends) then
    redis.call('zadd', KEYS[2], ends, id)
  end
end
local ttl = redis.call('pttl', KEYS[1])
if ttl > 0 then
  redis.call('pexpire', KEYS[2], ttl)
end
return {free, next_expiry()}
