-- LOOK: the state, in a reply that proves whose it is. GET's own does not.
--
-- KEYS  state
-- ARGV  nonce
-- Says  nonce, 'state' bytes | 'nothing'; and the time

local state = redis.call('GET', KEYS[1])
if not state then
  return { ARGV[1], 'nothing', now }
end
return { ARGV[1], 'state', state, now }
