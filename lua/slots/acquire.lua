-- Takes a permit, and gives it the lowest slot that no other permit in use has, with a token; or says when the next one
-- that is out expires. Where there is no counter, it sets one up first. Of an empty permit it only compares what the
-- slots are.
-- KEYS[1]  name: the counter of free permits
-- KEYS[2]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- KEYS[3]  channel: to which waiters subscribe
-- KEYS[4]  slots: a hash: "values", of each slot its last permit and holder ("slot:" and its word) and its last token
-- ARGV[1]  permit: the id that it is to have, 16 bytes, made for this acquisition; empty: only compares
-- ARGV[2]  lease: ms, 1 to 2^53
-- ARGV[3]  owner: who takes it, "uuid:number"
-- ARGV[4]  number: how many slots there are
-- ARGV[5]  values: the value of each slot, in lines; empty: they have none, and a slot's word is its number, from 0 on
-- ARGV[6]  place: where its owner is: " ", its process, " " and its host
-- ARGV[7]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  {>= 0, decimal, any, any}: the slot's place, from 0 on, and its token; permits that are free yet, and ms until
--          one that is out expires, or -1; a repeat gets the same slot and token
-- returns  {-1, any}: there is this other number of slots; nothing changed
-- returns  {-2, text}: they have these other values; nothing changed
-- returns  {-4, 0}: there is nothing to object to, of an empty permit
-- returns  >= 1: none is free; ms until the next one that is out expires
-- returns  -1: none is free, and none that is out expires
-- returns  error: WRONGTYPE: a key is another program's; nothing changed
--
-- A permit is taken as by permit_semaphore/acquire. A slot is its word: where the values have another order, a value that
-- is in use is not given again. A token is at least the server's clock in microseconds, as that of a fenced lock.
local publish, setup = ARGV[7], tonumber(ARGV[4])
-- @include _request/counter.lua
local all = counter and counter + redis.call('zcard', KEYS[2])
if all and all ~= setup then
  return {-1, all}
end
local of, flat = {}, redis.call('hgetall', KEYS[4])
for i = 1, #flat, 2 do
  of[flat[i]] = flat[i + 1]
end
if of.values and of.values ~= ARGV[5] then
  return {-2, of.values}
end
local permit = ARGV[1]
if permit == '' then
  return {-4, 0}
end
-- @include _permit_semaphore/set_up.lua
-- @include _permit_semaphore/reclaim.lua
-- @include _permit_semaphore/next_expiry.lua
local known = redis.call('zscore', KEYS[2], permit)
if not known and free < 1 then
  return next_expiry()
end

local words = {}
for word in string.gmatch(ARGV[5], '[^\n]+') do
  words[#words + 1] = word
end
local place, token, counted
for i = 1, setup do
  local word = words[i] or string.format('%d', i - 1)
  local owner = of['slot:' .. word] and string.sub(of['slot:' .. word], 1, 16)
  local own = known and owner == permit
  if own or not place and not (owner and redis.call('zscore', KEYS[2], owner)) then
    place, counted = i - 1, 'token:' .. word
    token = own and of[counted]
    if own or not known then
      break
    end
  end
end
if not place then
  return next_expiry()
end
local last = of[counted]
if last and not (string.find(last, '^%d+$') and #last < 19) then
  return redis.error_reply('WRONGTYPE a token that no client wrote')
end

if not known then
  free = redis.call('incrby', KEYS[1], -1)
end
if makes and free > 0 then
  notify(publish, KEYS[3], free)
end
local ends = now + ARGV[2]
if not known or known + 0 < ends then
  redis.call('zadd', KEYS[2], ends, permit)
end
local ttl = redis.call('pttl', KEYS[1])
if ttl > 0 then
  redis.call('pexpire', KEYS[2], ttl)
end
if not token then
  local next = redis.call('hincrby', KEYS[4], counted, 1)
  local clock = tonumber(time[1]) * 1000000 + tonumber(time[2])
  if next < clock then
    redis.call('hincrby', KEYS[4], counted, string.format('%.0f', clock - next))
  end
  token = redis.call('hget', KEYS[4], counted)
  redis.call('hset', KEYS[4], 'slot:' .. string.sub(counted, 7), permit .. ARGV[3] .. ARGV[6], 'values', ARGV[5])
end
return {place, token, free, next_expiry()}
