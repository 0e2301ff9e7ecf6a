-- Keeps what has become of a run, while the lock of the run is held by its runner.
-- KEYS[1]  name: the lock's hash, owner -> hold count
-- KEYS[2]  result: a text
-- ARGV[1]  owner: the runner, "uuid:number"; another one for each run
-- ARGV[2]  result: its bytes, with their kind before them
-- ARGV[3]  keep: ms from now for which it is kept, 1 to 2^53
-- ARGV[4]  needs: 1: it needs memory for its bytes; 0: it is kept on a server without memory, too
-- returns  1: it is kept; a repeat while the runner holds the lock keeps the same
-- returns  0: the owner does not hold the lock; nothing changed
--
-- What follows the first write of a script is not refused for the lack of memory: HDEL removes nothing here.
-- @include _lock/gone.lua
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return gone(KEYS[1], ARGV[1])
end
if ARGV[4] == '0' then
  redis.call('hdel', KEYS[1], '')
end
redis.call('set', KEYS[2], ARGV[2], 'px', ARGV[3])
return 1
