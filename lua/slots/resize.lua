-- Gives the slots other values, or none; their number follows, by permit_semaphore/set_permits. Forgets those that are
-- none of them and are not in use.
-- KEYS[1]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- KEYS[2]  slots: a hash: "values", of each slot its last permit and holder ("slot:" and its word) and its last token
-- ARGV[1]  number: how many slots there are
-- ARGV[2]  values: the value of each slot, in lines; empty: they have none, and a slot's word is its number, from 0 on
-- returns  1: they have these values
-- returns  error: WRONGTYPE: a key is another program's; nothing changed
-- @include _permit_semaphore/now.lua
local stays = {}
for word in string.gmatch(ARGV[2], '[^\n]+') do
  stays[word] = true
end
for i = 1, ARGV[2] == '' and ARGV[1] + 0 or 0 do
  stays[string.format('%d', i - 1)] = true
end
local over, flat = {}, redis.call('hgetall', KEYS[2])
for i = 1, #flat, 2 do
  local word = string.sub(flat[i], 1, 5) == 'slot:' and string.sub(flat[i], 6)
  if word and not stays[word] then
    local ends = redis.call('zscore', KEYS[1], string.sub(flat[i + 1], 1, 16))
    over[#over + 1] = not (ends and ends + 0 > now) and word or nil
  end
end
redis.call('hset', KEYS[2], 'values', ARGV[2])
for _, word in ipairs(over) do
  redis.call('hdel', KEYS[2], 'slot:' .. word, 'token:' .. word)
end
return 1
