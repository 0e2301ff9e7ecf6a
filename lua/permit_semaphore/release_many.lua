-- Gives permits back, all or none, and wakes the waiters.
-- KEYS[1]  name: the counter of free permits
-- KEYS[2]  request: the place of this request, where its number and its answer are kept for a while
-- KEYS[3]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- KEYS[4]  channel: to which waiters subscribe
-- ARGV[1]  memory: ms for which it is kept
-- ARGV[2]  number: of this request; each request has a higher one than the one before it in this place
-- ARGV[3]  permits: their ids, 16 bytes each, no two of them the same
-- ARGV[4]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  >= 1: given back, their number is published; a repeat gets the same answer
-- returns  < 0: the permit of this place, counted from -1 down, is not out, or has expired; nothing changed
-- returns  error: WRONGTYPE: the key is no counter; nothing changed
--
-- Unlike after the release of one permit, the published number is that of this release, as Redisson's.
-- @include _publish/notify.lua
-- @include _request/repeated.lua
-- @include _request/keep.lua
-- @include _permit_semaphore/now.lua
-- @include _permit_semaphore/ids.lua
-- @include _request/counter.lua
local all = ids(ARGV[3])
for i, id in ipairs(all) do
  local ends = redis.call('zscore', KEYS[3], id)
  if not ends or ends + 0 <= now then
    return -i
  end
end
for _, id in ipairs(all) do
  redis.call('zrem', KEYS[3], id)
end
local free = redis.call('incrby', KEYS[1], #all)
keep(#all)
if free > 0 then
  notify(ARGV[4], KEYS[4], #all)
end
return #all
