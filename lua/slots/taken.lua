-- Lists the slots that are taken.
-- KEYS[1]  timeouts: a sorted set of the permits that are out, id -> ms since 1970 at which it expires
-- KEYS[2]  slots: a hash: of each slot its last permit and holder ("slot:" and its word), among other fields
-- returns  {text, any, text, ...}: of each slot, its word, the ms until its permit expires, and its holder
-- returns  error: WRONGTYPE: a key is another program's
-- @include _permit_semaphore/now.lua
local taken, flat = {}, redis.call('hgetall', KEYS[2])
for i = 1, #flat, 2 do
  local ends = string.sub(flat[i], 1, 5) == 'slot:' and redis.call('zscore', KEYS[1], string.sub(flat[i + 1], 1, 16))
  if ends and ends + 0 > now then
    taken[#taken + 1] = string.sub(flat[i], 6)
    taken[#taken + 1] = math.ceil(math.min(ends, 2 ^ 53) - now)
    taken[#taken + 1] = string.sub(flat[i + 1], 17)
  end
end
return taken
