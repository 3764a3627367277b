-- ANNOUNCE: a process says which namespaces it knows.
--
-- KEYS  names
-- ARGV  nonce, life in milliseconds, name…
-- Says  nonce, 'yes'; and the time
--
-- A sorted set by the moment of the last word, so that a name goes when nobody says it any more, while the
-- whole goes when no process is left. One loop over the names, at most 100.

local nonce, life = ARGV[1], tonumber(ARGV[2])

local said = {}
for at = 3, #ARGV do
  said[#said + 1] = now
  said[#said + 1] = ARGV[at]
end
redis.call('ZADD', KEYS[1], unpack(said))
redis.call('PEXPIRE', KEYS[1], life)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - life * 1000))
return { nonce, 'yes', now }
