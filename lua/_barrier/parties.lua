-- The parties of a barrier: its state has a field "party:" and the permit of each: "w" and its place while it waits,
-- "p" and its place once it has passed, "b" once the barrier was broken for it; and "who:" and the permit, which says who
-- it is. A party whose permit is not in use has died.
-- @include _permit_semaphore/now.lua
-- @include _revision/change.lua
-- @include _barrier/keep.lua

-- wait_of(value): what the field of a party says, "w", "p" or "b", and its place; nil where another program wrote it.
local function wait_of(value)
  local mark, place = string.match(value or '', '^([wpb])(%d%d?%d?)$')
  return mark, tonumber(place)
end

-- parties(timeouts, state): {field -> place} of those that wait; how many they are; the fields of those that have died;
-- how many of these wait; the moment at which the next one that waits dies unless it is renewed; how many live.
local function parties(timeouts, state)
  local of = {waiting = {}, number = 0, dead = {}, dead_waiting = 0, live = 0}
  local flat = redis.call('hgetall', state)
  for i = 1, #flat, 2 do
    if string.sub(flat[i], 1, 6) == 'party:' then
      local waits = string.sub(flat[i + 1], 1, 1) == 'w'
      local ends = redis.call('zscore', timeouts, string.sub(flat[i], 7))
      ends = ends and math.min(ends, 2 ^ 53)
      local lives = ends and ends > now
      if waits then
        of.waiting[flat[i]] = string.sub(flat[i + 1], 2)
        of.number = of.number + 1
      end
      if lives then
        of.live = of.live + 1
        if waits then
          of.next_end = math.min(of.next_end or ends, ends)
        end
      else
        of.dead[#of.dead + 1] = flat[i]
        of.dead_waiting = of.dead_waiting + (waits and 1 or 0)
      end
    end
  end
  return of
end

-- end_waits(state, of, mark): the parties that wait are passed ("p"), or the barrier is broken for them ("b").
-- HDEL comes first: what follows the first write of a script is not refused for the lack of memory.
local function end_waits(state, of, mark)
  redis.call('hdel', state, 'until')
  for field, place in pairs(of.waiting) do
    redis.call('hset', state, field, mark .. place)
  end
end

-- break_barrier(state, of, channel, publish): for all that wait, and for those that come before a reset, or before the
-- state is forgotten.
local function break_barrier(state, of, channel, publish)
  end_waits(state, of, 'b')
  redis.call('hset', state, 'broken', '1')
  change(state, channel, publish)
  keep(state, REST)
end

-- drop_dead(state, of): forgets the parties that have died, once they do not wait.
local function drop_dead(state, of)
  for _, field in ipairs(of.dead) do
    redis.call('hdel', state, field, 'who:' .. string.sub(field, 7))
  end
end
