--!df flags=allow-undeclared-keys
-- Sets the lease of the owner's read holds anew, shorter or longer than what is left of it.
-- KEYS[1]  name: the lock's hash, mode and owner -> hold count
-- KEYS[2]  channel: to which waiters subscribe
-- KEYS[3]  prefix: what the name's timeout keys begin with
-- ARGV[1]  owner: who should read, "uuid:number"
-- ARGV[2]  lease: ms from now, 1 to 2^53
-- ARGV[3]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  1: the holds live for the lease from now on; if the lock's is shorter then, "0" is published
-- returns  0: the owner has no read hold, or its time is over; nothing changed
--
-- The lock lives as long as the longest of all read holds. While the owner writes it is never cut: the
-- lease is the writer's too.
-- @include _read_write_lock/follow_readers.lua
local name, prefix, lease = KEYS[1], KEYS[3], tonumber(ARGV[2])
local count = redis.call('hget', name, ARGV[1])
if not count or redis.call('exists', timeout(prefix, ARGV[1], 1)) == 0 then
  return 0
end
for n = 1, tonumber(count) do
  redis.call('pexpire', timeout(prefix, ARGV[1], n), lease)
end
if redis.call('hget', name, 'mode') == 'read' then
  follow_readers(name, prefix, ARGV[3], KEYS[2])
elseif redis.call('pttl', name) < lease then
  redis.call('pexpire', name, lease)
end
return 1
