-- introduce(key, about): the client's key says what the client is, unless it does already; returns whether it did.
-- about: its host, its process, when it was made (ms since 1970), its lease (ms), and its label, each but the last ended by a
-- line feed.
local function introduce(key, about)
  if redis.call('hexists', key, 'started') == 1 then
    return true
  end
  local host, pid, started, lease, label = string.match(about, '^([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n(.*)$')
  redis.call('hset', key, 'host', host, 'pid', pid, 'started', started, 'lease', lease, 'label', label)
  return false
end
