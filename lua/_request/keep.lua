local function keep(answer)
  redis.call('set', KEYS[2], ARGV[2] .. ':' .. answer, 'px', ARGV[1])
end
