-- Counts one request in the window of KEYS[1]; a window begins with its first request and ends ARGV[1] ms later.
-- Answers how many there have been, and the milliseconds that are left.
local count = redis.call('INCR', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
    left = tonumber(ARGV[1])
    redis.call('PEXPIRE', KEYS[1], left)
end
return { count, left }
