-- Takes an acquisition back, whether it was executed, is still on its way, or never arrives.
-- KEYS[1]  name: the semaphore's counter, the permits that are free
-- KEYS[2]  request: the place of its request: what it has taken; "0" from now on, so that it takes nothing later
-- KEYS[3]  channel: to which waiters subscribe
-- ARGV[1]  memory: ms for which that is kept
-- ARGV[2]  number: of that request
-- ARGV[3]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  >= 1: the number of permits that are released
-- returns  0: it had taken none, or the semaphore is gone and they with it
-- @include _publish/notify.lua
local last, taken = string.match(redis.call('get', KEYS[2]) or '', '^(%d+):(%d+)$')
if (tonumber(last) or 0) > tonumber(ARGV[2]) then
  return 0
end
if last ~= ARGV[2] then
  taken = '0'
end
-- @include _request/out_of_memory.lua
redis.call('set', KEYS[2], ARGV[2] .. ':0', 'px', ARGV[1])
if taken == '0' or not redis.call('get', KEYS[1]) then
  return 0
end
local free = redis.call('incrby', KEYS[1], taken)
if free > 0 then
  notify(ARGV[3], KEYS[3], free)
end
return tonumber(taken)
