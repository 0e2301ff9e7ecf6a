-- Reads who leads. The state stays for "keep" from now on where the half of that is over, so that it outlives no leader.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- KEYS[2]  state: the leader's hash
-- ARGV[1]  keep: as of leader/set
-- returns  {any, any, text, text, text}: the revision, as _revision/now.lua counts it; the ms that the leader's lease
--          lasts; its owner, token and value
-- returns  {any}: the revision; there is no leader
-- returns  error: WRONGTYPE: the state is another program's; nothing changed
-- @include _revision/foreign.lua
-- @include _revision/now.lua
local theirs = foreign(KEYS[2])
if theirs then
  return theirs
end
local revision, left = revision_now(KEYS[2], KEYS[1])
local fields = redis.call('hmget', KEYS[2], 'owner', 'token', 'value')
if revision <= 0 or not (fields[1] and fields[2] and fields[3]) then
  return {revision}
end
if redis.call('pttl', KEYS[2]) < ARGV[1] / 2 then
  redis.call('pexpire', KEYS[2], ARGV[1])
end
return {revision, left, fields[1], fields[2], fields[3]}
