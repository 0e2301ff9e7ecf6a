-- reach(command, channel): the one of the commands that the word stands for by which a message reaches a subscriber of this
-- server, found out by an empty message; nil: there is no subscriber.
--
-- What PUBLISH counts is known too late for the message itself: other servers of a cluster, and replicas, deliver it to their
-- subscribers, too, and do not count.
local function reach(command, channel)
  for _, way in ipairs(command == 'both' and {'spublish', 'publish'} or {command}) do
    if redis.call(way, channel, '') > 0 then
      return way
    end
  end
end
