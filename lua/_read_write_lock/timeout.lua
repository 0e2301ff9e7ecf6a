-- The key that lives as long as an owner's nth read hold, in Redisson's spelling.
local function timeout(prefix, owner, n)
  return prefix .. ':' .. owner .. ':rwlock_timeout:' .. n
end
