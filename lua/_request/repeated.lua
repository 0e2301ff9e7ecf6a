-- A request that is sent again gets the reply to its first sending. One that comes after its successor, a copy that was
-- held up on a broken connection, changes nothing: its caller has had its reply.
local last, answer = string.match(redis.call('get', KEYS[2]) or '', '^(%d+):(-?%d+)$')
if last and tonumber(last) >= tonumber(ARGV[2]) then
  return tonumber(answer)
end
