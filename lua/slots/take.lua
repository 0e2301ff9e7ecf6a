-- Gives a permit the lowest slot that no other permit in use has, with a token; or only compares what the slots are.
-- KEYS[1]  name: the counter of free permits
-- KEYS[2]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- KEYS[3]  slots: a hash: "values", of each slot its last permit and holder ("slot:" and its word) and its last token
-- ARGV[1]  permit: the id of the permit, 16 bytes; empty: only compares
-- ARGV[2]  number: how many slots there are
-- ARGV[3]  values: the value of each slot, in lines; empty: they have none, and a slot's word is its number, from 0 on
-- ARGV[4]  holder: who takes it
-- returns  {>= 0, decimal}: the slot's place, from 0 on, and its token; a repeat gets the same
-- returns  {-1, any}: there is this other number of slots; nothing changed
-- returns  {-2, text}: they have these other values; nothing changed
-- returns  {-3, 0}: the permit is not out, or has expired, or more permits are out than there are slots; nothing changed
-- returns  {-4, 0}: there is nothing to object to, of an empty permit
-- returns  error: WRONGTYPE: a key is another program's; nothing changed
--
-- A slot is its word: where the values have another order, a value that is in use is not given again. A token is at
-- least the server's clock in microseconds, as that of a fenced lock.
-- @include _request/counter.lua
-- @include _permit_semaphore/now.lua
local permit = ARGV[1]
local ends = permit ~= '' and redis.call('zscore', KEYS[2], permit)
if permit ~= '' and not (ends and ends + 0 > now) then
  return {-3, 0}
end
local all = counter and counter + redis.call('zcard', KEYS[2])
if all and all ~= ARGV[2] + 0 then
  return {-1, all}
end
local of, flat = {}, redis.call('hgetall', KEYS[3])
for i = 1, #flat, 2 do
  of[flat[i]] = flat[i + 1]
end
if of.values and of.values ~= ARGV[3] then
  return {-2, of.values}
end
if permit == '' then
  return {-4, 0}
end

local words = {}
for word in string.gmatch(ARGV[3], '[^\n]+') do
  words[#words + 1] = word
end
local place
for i = 1, ARGV[2] + 0 do
  local word = words[i] or string.format('%d', i - 1)
  local owner = of['slot:' .. word] and string.sub(of['slot:' .. word], 1, 16)
  if owner == permit then
    local token = of['token:' .. word]
    if token and string.find(token, '^%d+$') and #token < 19 then
      return {i - 1, token}
    end
    place = i -- another program has written the token, or removed it
  end
  local until_then = not place and owner and redis.call('zscore', KEYS[2], owner)
  if not place and not (until_then and until_then + 0 > now) then
    place = i
  end
  words[i] = word
end
if not place then
  return {-3, 0}
end
local counted = 'token:' .. words[place]
local token = redis.call('hincrby', KEYS[3], counted, 1)
local clock = tonumber(time[1]) * 1000000 + tonumber(time[2])
if token < clock then
  redis.call('hincrby', KEYS[3], counted, string.format('%.0f', clock - token))
end
redis.call('hset', KEYS[3], 'slot:' .. words[place], permit .. ARGV[4], 'values', ARGV[3])
return {place - 1, redis.call('hget', KEYS[3], counted)}
