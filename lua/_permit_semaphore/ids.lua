-- ids(joined): the ids, 16 bytes each, that are one text.
local function ids(joined)
  local all = {}
  for first = 1, #joined, 16 do
    all[#all + 1] = string.sub(joined, first, first + 15)
  end
  return all
end
