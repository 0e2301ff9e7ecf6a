-- Takes permits, if enough are free. Where there is no counter, it may set one up first.
-- KEYS[1]  name: the semaphore's counter, the permits that are free
-- KEYS[2]  request: the place of this request, where its number and what it has taken are kept for a while
-- KEYS[3]  channel: to which waiters subscribe
-- ARGV[1]  memory: ms for which it is kept
-- ARGV[2]  number: of this request; each request has a higher one than the one before it in this place
-- ARGV[3]  permits: 1 to 2^31-1
-- ARGV[4]  setup: the permits where there is no counter, of which what is left is published; -1: none
-- ARGV[5]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  nil: granted; a repeat says so too
-- returns  {1, free}: granted; `free` is the number of permits before it, more than `setup`
-- returns  < permits: refused, the number of free permits (below 0: a debt); nothing changed
-- returns  error: WRONGTYPE: the key is no counter; nothing changed
--
-- A request that was undone takes nothing: it gets the reply that none are free. So does one that comes after its
-- successor.
local last, taken = string.match(redis.call('get', KEYS[2]) or '', '^(%d+):(%d+)$')
local later = (tonumber(last) or 0) - tonumber(ARGV[2])
if later > 0 or (later == 0 and taken == '0') then
  return 0
elseif later == 0 then
  return nil
end

-- @include _request/counter.lua
-- @include _publish/notify.lua
local setup = tonumber(ARGV[4])
local makes = not counter and setup >= 0
local free = makes and setup or tonumber(counter or 0)
local enough = free >= tonumber(ARGV[3])
if makes then
  redis.call('set', KEYS[1], ARGV[4])
end
if enough then
  redis.call('decrby', KEYS[1], ARGV[3])
  redis.call('set', KEYS[2], ARGV[2] .. ':' .. ARGV[3], 'px', ARGV[1])
end
local left = free - (enough and ARGV[3] or 0)
if makes and left > 0 then
  notify(ARGV[5], KEYS[3], left)
end
if not enough then
  return free
end
return setup >= 0 and free > setup and {1, free} or nil
