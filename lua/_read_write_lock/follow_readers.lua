-- @include _publish/notify.lua
-- @include _read_write_lock/longest_read.lua
-- Time goes on during a script (before Redis 7.2): ends that were set together may differ by this many ms.
local slack = 10

-- follow_readers(name, prefix, command, channel): the lease of a lock in mode read becomes that of the longest read
-- hold; if it falls, by more than the slack, "0" is published. False when no read hold lives: then nothing is done.
local function follow_readers(name, prefix, command, channel)
  local before, longest = redis.call('pttl', name), longest_read(name, prefix)
  if longest == 0 then
    return false
  end
  local falls = before < 0 or before > longest + slack
  if falls or before < longest then
    redis.call('pexpire', name, longest)
  end
  if falls then
    notify(command, channel, '0')
  end
  return true
end
