-- more_than_room(free): the error, if those are more free permits than Java counts.
local MOST = 2147483647
local function more_than_room(free)
  return free > MOST
    and redis.error_reply('OVERFLOW a semaphore has no room for more than 2147483647 permits')
end
