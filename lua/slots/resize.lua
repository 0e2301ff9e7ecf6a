-- Gives the slots other values, or none; their number follows, by permit_semaphore/set_permits.
-- KEYS[1]  slots: a hash: "values", among other fields
-- ARGV[1]  values: the value of each slot, in lines; empty: they have none
-- returns  1: they have these values
-- returns  error: WRONGTYPE: the key is another program's; nothing changed
redis.call('hset', KEYS[1], 'values', ARGV[1])
return 1
