-- Reads who leads.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- KEYS[2]  state: the leader's hash
-- returns  list: the revision, as _revision/now.lua counts it; of a leader's state above 0 the ms that its lease lasts,
-- and its owner, token and value follow
-- @include _revision/now.lua
local revision, left = revision_now(KEYS[2], KEYS[1])
local fields = redis.call('hmget', KEYS[2], 'owner', 'token', 'value')
if revision <= 0 or not fields[3] then
  return {revision}
end
return {revision, left, fields[1], fields[2], fields[3]}
