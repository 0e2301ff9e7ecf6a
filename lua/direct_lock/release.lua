-- Releases the only hold of an owner, and grants the lock to the first waiter in line, or frees it and wakes the waiters.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- KEYS[2]  channel: to which waiters subscribe; the next owner's client, to this, ":" and its id
-- KEYS[3]  waiters: a sorted set, owner -> place
-- ARGV[1]  owner: the releasing owner, "uuid:number"
-- ARGV[2]  lease: of the next owner, ms
-- ARGV[3]  publish: the command that reaches the waiters, "publish", "spublish" or "both"
-- returns  >= 1: freed, "0" is published; one more than the subscribers that received it
-- returns  0: another owner holds it, and was sent the grant; if the lease became shorter, "0" is published, too
-- returns  nil: the owner does not hold it, and is not in line any more
--
-- HDEL comes first: after it nothing is refused for lack of memory.
local function token()
  return ''
end
-- @include _direct_lock/hand_on.lua
return 1 + notify(ARGV[3], KEYS[2], '0')
