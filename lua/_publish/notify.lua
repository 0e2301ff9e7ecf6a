-- notify(command, channel, message): publishes, and returns the number of subscribers that received it. The command is
-- "publish", "spublish", or "both": ordinary and sharded subscribers of a channel do not receive each other's messages.
-- A subscriber of both forms counts once.
local function notify(command, channel, message)
  if command ~= 'both' then
    return redis.call(command, channel, message)
  end
  return math.max(redis.call('spublish', channel, message), redis.call('publish', channel, message))
end
