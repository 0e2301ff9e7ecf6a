-- Ends the script with an error where the counter (KEYS[1]) is another program's text. `counter` is then what it says,
-- false where there is none.
local counter = redis.call('get', KEYS[1])
if counter and not (string.find(counter, '^%-?%d+$') and #counter < 19) then
  return redis.error_reply('WRONGTYPE a text that is not a number')
end
