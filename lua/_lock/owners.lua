-- is_lock(fields): whether a hash with these fields is a lock: it maps owners, "uuid:number", to hold counts; of a
-- read-write lock also its mode, and ":write" behind a writer. Redisson's transactions put a word of theirs there.
local HEX = '%x%x%x%x'
local OWNER = '^' .. HEX .. string.rep(HEX .. '%-', 4) .. string.rep(HEX, 3) .. ':%-?%d+[:%l%d%-]*$'
local function is_lock(fields)
  local owners = 0
  for i = 1, #fields, 2 do
    if string.find(fields[i], OWNER) and string.find(fields[i + 1], '^%d+$') then
      owners = owners + 1
    elseif fields[i] ~= 'mode' or fields[i + 1] ~= 'read' and fields[i + 1] ~= 'write' then
      return false
    end
  end
  return owners > 0
end
