-- LOOK: the state, in a reply that proves whose it is. GETRANGE's own does not.
--
-- KEYS  state
-- ARGV  nonce, the place of the last byte that is wanted
-- Says  nonce, 'state' bytes | 'nothing'; and the time

local state = state_of(KEYS[1], ARGV[2])
if state == '' then
  return { ARGV[1], 'nothing', now }
end
return { ARGV[1], 'state', state, now }
