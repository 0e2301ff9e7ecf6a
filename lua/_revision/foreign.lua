-- foreign(state): the error of a state that another program wrote, which says that nothing changed; nil for our own. Its
-- numbers are whole, and below 2^53, up to which Lua counts.
local function foreign(state)
  local numbers = redis.pcall('hmget', state, 'revision', 'until', 'parties', 'change')
  if numbers.err then
    return numbers
  end
  for i = 1, 4 do
    local text = numbers[i]
    if text and not (string.find(text, '^%d+$') and text + 0 < 2 ^ 53) then
      return redis.error_reply('WRONGTYPE a state that no client wrote')
    end
  end
end
