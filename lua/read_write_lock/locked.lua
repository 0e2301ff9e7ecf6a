-- Whether the lock is held for reading, or for writing.
-- KEYS[1]  name: the lock's hash, mode and owner -> hold count
-- ARGV[1]  mode: the side, "read" or "write"
-- returns  1: it is held; a writer that also reads holds both
-- returns  0: it is not held
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == ARGV[1] then
  return 1
end
-- In mode write there are the mode, the writer, and its read holds.
local reads_too = mode and ARGV[1] == 'read' and redis.call('hlen', KEYS[1]) > 2
return reads_too and 1 or 0
