-- REPLACE: put a state in place from outside any flight, and fence the flight in progress. The twin of Cell::replace.
--
-- KEYS  lock, state
-- ARGV  nonce, channel, envelope, life in ms
-- Says  nonce, 'yes' when a flight was fenced | 'no'; and the time

local nonce, channel, envelope, life = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

-- Asked again, it must not fence the flight behind it.
if mark_of(head_of(KEYS[2])) == mark_of(envelope) then
  local _, fenced = holder_of(KEYS[1])
  return { nonce, fenced and 'yes' or 'no', now }
end

-- The old state goes first: a full Redis must not keep an invalidated value, and lets a script that has
-- already removed something go on.
redis.call('DEL', KEYS[2])
local holder, fenced = holder_of(KEYS[1])
if holder and not fenced then
  -- The first fence counts, and SETRANGE keeps the lease.
  redis.call('SETRANGE', KEYS[1], 32, '!' .. string.format('%.0f', now))
end
local state = stamped(envelope, now)
redis.call('SET', KEYS[2], state, 'PX', life)
tell(channel, state)
return { nonce, holder and 'yes' or 'no', now }
