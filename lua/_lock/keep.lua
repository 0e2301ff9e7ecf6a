-- Ends the script with nil unless the lock (KEYS[1]) is held by its owner (ARGV[1]) or, already, by the next one
-- (ARGV[2]). Writes nothing. `held`: the owner still has it.
local held = redis.call('hexists', KEYS[1], ARGV[1]) == 1
if not held and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return nil
end
