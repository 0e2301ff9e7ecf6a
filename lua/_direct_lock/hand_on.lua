-- Releases the only hold of an owner (ARGV[1]) of the lock (KEYS[1]), and grants the lock to the oldest waiter in the set
-- (KEYS[3]) whose client is subscribed, for a lease (ARGV[2]): this publishes "number place lease", and what token() adds, to the
-- waiter's client. Ends the script with 0 then, with nil where the owner holds nothing, and after its place has ended; goes
-- on where the lock is free now.
--
-- The set also has the number of hand-overs in a row, as a member, and its negative score is their beginning: after 16,
-- or 10 ms, the lock is freed for all.
-- @include _publish/notify.lua
-- @include _direct_lock/reach.lua
-- @include _direct_lock/micros.lua
local MOST, LONGEST = 16, 10000
local waiting = redis.call('zcard', KEYS[3])
local left = waiting > 0 and redis.call('pttl', KEYS[1])
if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then
  if waiting > 0 then
    redis.call('zrem', KEYS[3], ARGV[1])
  end
  return nil
end

local next, turns, begun = {}, 0, 0
if waiting > 0 then
  local now = micros()
  next, begun = redis.call('zpopmin', KEYS[3]), now
  if tonumber(next[2]) < 0 then
    turns, begun = tonumber(next[1]), -tonumber(next[2])
    next = turns < MOST and now - begun < LONGEST and redis.call('zpopmin', KEYS[3]) or {}
  end
end
while next[1] do
  local client, number = string.match(next[1], '^(.*):(%d+)$')
  local channel = KEYS[2] .. ':' .. client
  local way = reach(ARGV[3], channel)
  if way then
    redis.call('hset', KEYS[1], next[1], '1')
    redis.call('pexpire', KEYS[1], ARGV[2])
    redis.call(way, channel, string.format('%s %s %s%s', number, next[2], ARGV[2], token()))
    redis.call('zadd', KEYS[3], string.format('%.0f', -begun), turns + 1)
    redis.call('pexpire', KEYS[3], 60000)
    if left < 0 or left > tonumber(ARGV[2]) then
      notify(ARGV[3], KEYS[2], '0')
    end
    return 0
  end
  next = redis.call('zpopmin', KEYS[3])
end
