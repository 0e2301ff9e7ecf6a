-- Takes permits, all or none, or says when the next one that is out expires. Where there is no counter, it may set one
-- up first.
-- KEYS[1]  name: the counter of free permits
-- KEYS[2]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- KEYS[3]  channel: to which waiters subscribe
-- ARGV[1]  permits: the ids that they are to have, 16 bytes each, made for this acquisition
-- ARGV[2]  lease: ms, 1 to 2^53
-- ARGV[3]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- ARGV[4]  setup: the permits where there is no counter, of which what is left is published; -1: none
-- returns  {left, next}: taken; permits that are free yet, and ms until one that is out expires
-- returns  {-free, next}: refused, of several: too few are free; and ms until one that is out expires, or -1
-- returns  {left, next, all}: taken; `all` is the number of permits, which is not `setup`
-- returns  {-1 - free, next, all}: refused, too few are free; the same
-- returns  >= 1: none is free; ms until the next one that is out expires
-- returns  -1: none is free, and none that is out expires
-- returns  error: WRONGTYPE: the key is no counter; nothing changed
--
-- Ids that are out already were taken by this step before: a repeat takes no further ones, and starts the
-- lease anew. The set lives as long as the counter, if a program has set that to expire.
local publish, setup = ARGV[3], tonumber(ARGV[4])
-- @include _request/counter.lua
-- @include _permit_semaphore/set_up.lua
-- @include _permit_semaphore/reclaim.lua
-- @include _permit_semaphore/ids.lua
-- @include _permit_semaphore/next_expiry.lua

local all = setup >= 0 and free + redis.call('zcard', KEYS[2])
local other = all and all ~= setup and all or nil
local wanted = ids(ARGV[1])
local known, repeated = {}, false
for i, id in ipairs(wanted) do
  known[i] = redis.call('zscore', KEYS[2], id)
  repeated = repeated or known[i]
end
if not repeated then
  if free < #wanted then
    if makes and free > 0 then
      notify(publish, KEYS[3], free)
    end
    if other then
      return {-1 - math.max(free, 0), next_expiry(), other}
    end
    return free < 1 and next_expiry() or {-free, next_expiry()}
  end
  free = redis.call('incrby', KEYS[1], -#wanted)
end
if makes and free > 0 then
  notify(publish, KEYS[3], free)
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
return {free, next_expiry(), other}
