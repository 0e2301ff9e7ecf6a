-- Says in a client's key what its owners are about to acquire names for, and that they wait from now on.
-- KEYS[1]  name: the client's key, a hash
-- ARGV[1]  lease: ms from now, 1 to 2^53
-- ARGV[2]  about: what the client says of itself, as _client/introduce.lua has it; empty: the key says it
-- ARGV[3]  lives: not empty: by what the client knows, a key that is there lives for two thirds of the lease or longer
-- ARGV[4...]  notes: for each its field and its purpose
-- returns  1: the key has these fields, and lives for the lease or longer, or, with `lives`, perhaps for those two thirds
--
-- A field is "<ms since 1970> <purpose>", by the server's clock. A key that had the fields before was there.
-- @include _client/introduce.lua
local key = KEYS[1]
if ARGV[2] ~= '' then
  introduce(key, ARGV[2])
end
local time = redis.call('time')
local since = string.format('%s%03d ', time[1], math.floor(time[2] / 1000))
local new = 0
for i = 4, #ARGV, 2 do
  new = new + redis.call('hset', key, ARGV[i], since .. ARGV[i + 1])
end
if (new > 0 or ARGV[3] == '') and redis.call('pttl', key) < tonumber(ARGV[1]) then
  redis.call('pexpire', key, ARGV[1])
end
return 1
