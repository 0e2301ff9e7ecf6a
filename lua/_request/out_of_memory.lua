-- Releases must work on a server that is out of memory. PEXPIRE is a write that such a server allows, without
-- an effect on a missing key; and a script that has begun to write is not stopped.
redis.call('pexpire', KEYS[2], ARGV[1])
