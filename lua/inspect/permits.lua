-- Reads a semaphore with all that tools show of it, as it is at one moment. Writes nothing.
-- KEYS[1]  name: the counter of free permits
-- KEYS[2]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- KEYS[3]  slots: a hash, if slots are built on it
-- KEYS[4]  state: a hash, if a barrier is built on it
-- ARGV[1]  most: permits that are read, those that expire last
-- ARGV[2]  fields: the most of a hash; of one with more none is read
-- returns  {text, ...}: the counter; the number of permits that are out; ms since 1970 now; of those permits and of
--          each hash the number of texts that follow, and these: ids and expiries, fields and values
-- returns  nil: it is no semaphore
-- @include _permit_semaphore/now.lua
local free, out = redis.pcall('get', KEYS[1]), redis.pcall('zcard', KEYS[2])
if type(free) ~= 'string' or type(out) ~= 'number' then
  return nil
end
local all = {free, string.format('%d', out), string.format('%.0f', now)}
local function add(texts)
  all[#all + 1] = string.format('%d', #texts)
  for _, text in ipairs(texts) do
    all[#all + 1] = text
  end
end
add(redis.call('zrange', KEYS[2], -ARGV[1], -1, 'withscores'))
for _, key in ipairs({KEYS[3], KEYS[4]}) do
  local size = redis.pcall('hlen', key)
  local small = type(size) == 'number' and size <= tonumber(ARGV[2])
  add(small and redis.call('hgetall', key) or {})
end
return all
