-- Notes in a client's key since when its owners hold what they hold, and for what.
-- KEYS[1]  name: the client's key, a hash
-- ARGV[1]  lease: ms from now, 1 to 2^53
-- ARGV[2]  within: every hold that is older, in ms, has a field from now on; 0: that is so no more; empty: nothing new
-- ARGV[3...]  notes: for each its field, its age in ms, "keep" or "set", and its purpose
-- returns  1: the key has these fields, and lives for the lease or longer
--
-- A field is "<ms since 1970> <purpose>", by the server's clock. "keep": the time of one that is there stays.
-- @include _lock/lengthen.lua
-- @include _permit_semaphore/now.lua
local key = KEYS[1]
if ARGV[2] == '0' then
  redis.call('hdel', key, 'within')
elseif ARGV[2] ~= '' then
  redis.call('hset', key, 'within', ARGV[2])
end
local most = 1000
local fields = {}
for i = 3, #ARGV, 4 do
  local since = string.format('%.0f', now - ARGV[i + 1])
  if ARGV[i + 2] == 'keep' then
    since = string.match(redis.call('hget', key, ARGV[i]) or '', '^%d+') or since
  end
  fields[#fields + 1] = ARGV[i]
  fields[#fields + 1] = since .. ' ' .. ARGV[i + 3]
  if #fields == most then
    redis.call('hset', key, unpack(fields))
    fields = {}
  end
end
if #fields > 0 then
  redis.call('hset', key, unpack(fields))
end
lengthen(key, ARGV[1])
return 1
