-- Elects an owner: grants the lock with a token, and announces its value; or says how long the leader's lease still runs.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- KEYS[2]  counter: the last token of this name; a string without expiry
-- KEYS[3]  state: the leader's hash: revision, owner, token, value, change
-- KEYS[4]  channel: to which observers subscribe
-- ARGV[1]  owner: the candidate, "uuid:number"; one for each election
-- ARGV[2]  lease: ms, 1 to 2^53
-- ARGV[3]  count: the holds the owner has once this one is granted, 1 for a first hold
-- ARGV[4]  value: "s" and a text in UTF-8, "b" and bytes, or "n" for none
-- ARGV[5]  keep: as of leader/set
-- ARGV[6]  publish: the command that reaches the observers, "publish", "spublish" or "both"
-- returns  decimal: granted; the token
-- returns  >= -1: refused, the key's remaining ms (-1: another's key that never expires)
-- returns  -3: count is above 1 but the earlier holds are gone; nothing changed
-- returns  error: WRONGTYPE: the state is another program's; nothing changed
--
-- A repeat, and a late copy that arrives after the next value, gets the same token, and announces nothing.
-- @include _lock/refuse.lua
-- @include _fenced_lock/mint.lua
-- @include _revision/change.lua
-- @include _revision/foreign.lua
local theirs = foreign(KEYS[3])
if theirs then
  return theirs
end
local known = redis.call('hmget', KEYS[3], 'owner', 'token')
local repeated = ttl ~= FREE and known[1] == ARGV[1] and string.find(known[2] or '', '^%d+$')
local token = repeated and known[2] or mint(KEYS[2])
-- @include _lock/hold.lua
if not repeated then
  redis.call('hset', KEYS[3], 'owner', ARGV[1], 'token', token, 'change', '0', 'value', ARGV[4])
  change(KEYS[3], KEYS[4], ARGV[6])
  redis.call('pexpire', KEYS[3], ARGV[5])
end
return token
