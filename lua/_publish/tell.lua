-- tell(command, channel, message): publishes, and returns how many subscribers were told. The command is "publish",
-- "spublish", or "both": ordinary and sharded subscribers of a channel do not hear each other's messages. Who is both
-- counts once.
local function tell(command, channel, message)
  if command ~= 'both' then
    return redis.call(command, channel, message)
  end
  return math.max(redis.call('spublish', channel, message), redis.call('publish', channel, message))
end
