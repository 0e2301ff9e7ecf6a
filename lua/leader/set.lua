-- Announces the leader, or another value of it.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- KEYS[2]  state: the leader's hash: revision, owner, token, value, change
-- KEYS[3]  channel: to which observers subscribe
-- ARGV[1]  owner: the leader, "uuid:number"; one for each election
-- ARGV[2]  token: of its grant
-- ARGV[3]  change: 1 for the first value that this owner sets, then one more for each
-- ARGV[4]  value: "s" and a text in UTF-8, "b" and bytes, or "n" for none
-- ARGV[5]  keep: ms from now after which the state goes, unless leader/current lengthens that; a leader that dies leaves it
-- ARGV[6]  publish: the command that reaches the observers, "publish", "spublish" or "both"
-- returns  1: it leads with this value, or with a newer one
-- returns  0: it does not hold the lock; nothing changed
-- returns  error: WRONGTYPE: the state is another program's; nothing changed
--
-- A repeat, and a late copy that arrives after the next value, changes and announces nothing.
-- @include _revision/change.lua
-- @include _revision/foreign.lua
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return 0
end
local theirs = foreign(KEYS[2])
if theirs then
  return theirs
end
local known = redis.call('hmget', KEYS[2], 'owner', 'change')
if known[1] == ARGV[1] and tonumber(known[2]) >= tonumber(ARGV[3]) then
  return 1
end
redis.call('hset', KEYS[2], 'owner', ARGV[1], 'token', ARGV[2], 'change', ARGV[3], 'value', ARGV[4])
change(KEYS[2], KEYS[3], ARGV[6])
redis.call('pexpire', KEYS[2], ARGV[5])
return 1
