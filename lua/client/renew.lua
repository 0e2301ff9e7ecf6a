-- Keeps the keys in which clients say who they are, and makes those that are gone.
-- KEYS[1...]  names: the clients' keys, hashes; at most some dozens, and of one slot
-- ARGV[1]  lease: ms from now, 1 to 2^53
-- ARGV[2...]  abouts: what each client says of itself: its host, its process, when it was made (ms since 1970), and its
--          label, each but the last ended by a line feed
-- returns  1: each key lives for the lease or longer
--
-- Other fields, which say what the client's holds are for, stay as they are.
-- @include _lock/lengthen.lua
for i, key in ipairs(KEYS) do
  if redis.call('hexists', key, 'started') == 0 then
    local host, pid, started, label = string.match(ARGV[i + 1], '^([^\n]*)\n([^\n]*)\n([^\n]*)\n(.*)$')
    redis.call('hset', key, 'host', host, 'pid', pid, 'started', started, 'label', label)
  end
  lengthen(key, ARGV[1])
end
return 1
