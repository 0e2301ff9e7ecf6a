--!df flags=allow-undeclared-keys
-- Frees the lock of all readers, or of the writer and what it reads, and wakes the waiters.
-- KEYS[1]  name: the lock's hash, mode and owner -> hold count
-- KEYS[2]  channel: to which waiters subscribe
-- KEYS[3]  prefix: what the name's timeout keys begin with
-- ARGV[1]  mode: whose lock, "read" or "write"
-- ARGV[2]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  1: it was in this mode; it is free and "0" (read) or "1" (write) is published
-- returns  0: it was free, in the other mode, or another kind of lock; nothing changed
-- returns  error: WRONGTYPE: the key is no lock; nothing changed
-- @include _publish/notify.lua
-- @include _read_write_lock/timeout.lua
-- @include _lock/owners.lua
local name = KEYS[1]
local fields = redis.call('hgetall', name)
if #fields > 0 and not is_lock(fields) then
  return redis.error_reply('WRONGTYPE a hash whose fields are no owners')
elseif redis.call('hget', name, 'mode') ~= ARGV[1] then
  return 0
end
for i = 1, #fields, 2 do
  for n = 1, tonumber(fields[i + 1]) or 0 do
    redis.call('del', timeout(KEYS[3], fields[i], n))
  end
end
redis.call('del', name)
notify(ARGV[2], KEYS[2], ARGV[1] == 'read' and '0' or '1')
return 1
