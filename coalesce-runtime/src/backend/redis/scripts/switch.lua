-- SWITCH: set a position of the kill switch, or clear it, and tell every process.
--
-- KEYS  switch
-- ARGV  nonce, channel, message, field, '1' when there is a text, text
-- Says  nonce, 'state' replaced text | 'nothing'; and the time
--
-- The switch is the one thing here that never expires: it must outlive every incident.

local nonce, channel, message, field, set, text = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5] == '1', ARGV[6]

local replaced = redis.call('HGET', KEYS[1], field)
if set then
  redis.call('HSET', KEYS[1], field, text)
else
  redis.call('HDEL', KEYS[1], field)
end
redis.pcall('PUBLISH', channel, message)
if not replaced then
  return { nonce, 'nothing', now }
end
return { nonce, 'state', replaced, now }
