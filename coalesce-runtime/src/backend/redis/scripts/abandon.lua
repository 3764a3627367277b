-- ABANDON: free the lock if the token holds it, and say so on the channel. The twin of Cell::abandon.
--
-- KEYS  lock
-- ARGV  nonce, channel, token, message
-- Says  nonce, 'yes' | 'no'; and the time

local nonce, channel, token, message = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if holder_of(KEYS[1]) ~= token then
  return { nonce, 'no', now }
end
-- Should that be refused, those who listen are told all the same.
local refused = refusal(redis.pcall('DEL', KEYS[1]))
redis.pcall('PUBLISH', channel, message)
if refused then
  return refused
end
return { nonce, 'yes', now }
