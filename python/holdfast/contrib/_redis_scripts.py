"""The scripts of the stand-ins for redis-py's locks: holds with a timeout, known by their tokens.

KEYS[1] is the lock's name, ARGV[1] the owner's field in its hash. Each returns 1 where
it was done, 0 where the lock is another's.
"""

from __future__ import annotations

__all__ = ["ACQUIRE", "EXTEND", "MOVE", "REACQUIRE", "RELEASE"]

# The waiters of a cluster may be sharded subscribers; before Redis 7 there
# are none, and the call that is not known is an error that counts for nothing.
WAKE = """
local function wake()
  local channel = 'redisson_lock__channel:'
  channel = channel .. (KEYS[1]:find('{', 1, true) and KEYS[1] or '{' .. KEYS[1] .. '}')
  redis.pcall('spublish', channel, '0')
  redis.call('publish', channel, '0')
end
"""
HELD = """
if redis.pcall('hexists', KEYS[1], ARGV[1]) ~= 1 then
  return 0
end
"""

# ARGV[2]: the lease in ms.
ACQUIRE = """
if redis.call('exists', KEYS[1]) == 1 then
  return 0
end
redis.call('hset', KEYS[1], ARGV[1], '1')
redis.call('pexpire', KEYS[1], ARGV[2])
return 1
"""
RELEASE = f"""{WAKE}{HELD}
redis.call('del', KEYS[1])
wake()
return 1
"""
# ARGV[2]: ms; ARGV[3]: "1" to replace the time that is left, "0" to add to it.
EXTEND = f"""{WAKE}{HELD}
local left = redis.call('pttl', KEYS[1])
if left < 0 then
  return 0
end
local ms = tonumber(ARGV[2])
if ARGV[3] == '0' then
  ms = ms + left
end
redis.call('pexpire', KEYS[1], string.format('%.0f', ms))
if ms < left then
  wake()
end
return 1
"""
# ARGV[2]: ms.
REACQUIRE = f"""{WAKE}{HELD}
local left = redis.call('pttl', KEYS[1])
redis.call('pexpire', KEYS[1], ARGV[2])
if tonumber(ARGV[2]) < left then
  wake()
end
return 1
"""
# From the hold of a waiter, ARGV[1], to that of a token, ARGV[2], with a lease of ARGV[3] ms.
MOVE = f"""{HELD}
redis.call('hset', KEYS[1], ARGV[2], '1')
redis.call('hdel', KEYS[1], ARGV[1])
redis.call('pexpire', KEYS[1], ARGV[3])
return 1
"""
