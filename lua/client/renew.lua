-- Keeps the keys in which clients say who they are, and makes those that are gone.
-- KEYS[1...]  names: the clients' keys, hashes; at most some dozens, and of one slot
-- ARGV[1]  lease: ms from now, 1 to 2^53
-- ARGV[2...]  abouts: what each client says of itself, as _client/introduce.lua has it
-- returns  1: each key was there, and lives for the lease or longer
-- returns  2: the same, but one was made, without what the client's holds are for
--
-- Other fields, which say what the client's holds are for, stay as they are.
-- @include _client/introduce.lua
-- @include _lock/lengthen.lua
local answer = 1
for i, key in ipairs(KEYS) do
  if not introduce(key, ARGV[i + 1]) then
    answer = 2
  end
  lengthen(key, ARGV[1])
end
return answer
