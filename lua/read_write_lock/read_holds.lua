--!df flags=allow-undeclared-keys
-- The number of read holds of an owner.
-- KEYS[1]  name: the lock's hash, mode and owner -> hold count
-- KEYS[2]  prefix: what the name's timeout keys begin with
-- ARGV[1]  owner: whose holds, "uuid:number"
-- returns  >= 0: the holds; 0 also when their lease is over but others keep the lock
-- @include _read_write_lock/timeout.lua
local count = redis.call('hget', KEYS[1], ARGV[1])
if count and redis.call('exists', timeout(KEYS[2], ARGV[1], 1)) == 1 then
  return tonumber(count)
end
return 0
