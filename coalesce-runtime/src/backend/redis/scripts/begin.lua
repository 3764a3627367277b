-- BEGIN: look at the state again, then try the lock. The twin of Cell::begin.
--
-- KEYS  lock, state
-- ARGV  nonce, token, lease in ms, '1' when a mark is given, the mark not wanted, the followed token or '', the
--       asker's trace or '', the place of the last byte of a state that is wanted
-- Says  nonce, 'state' bytes | 'lead' mark | 'follow' holder, ms left, mark, the holder's trace; and the time
--
-- A server that writes nothing (read-only, cut off from its replicas, unable to save) is no place to follow anybody:
-- it cannot let a flight end, nor another begin. GETEX that sets nothing is refused exactly then; and it may be sent
-- only where nothing is written behind it, since a full Redis lets a script grow once it has done anything like it.

local nonce, token, lease = ARGV[1], ARGV[2], ARGV[3]
local has_mark, unwanted, following, trace, last = ARGV[4] == '1', ARGV[5], ARGV[6], ARGV[7], ARGV[8]

-- A server that does not know GETEX, and a user that may not use it, say something else.
local function is_about_writing(text)
  return string.find(text, 'READONLY') or string.find(text, 'NOREPLICAS') or string.find(text, 'MISCONF')
end

local head = head_of(KEYS[2])
local mark = mark_of(head)
if has_mark and mark ~= unwanted and status_of(head) ~= 'I' then
  local state = state_of(KEYS[2], last)
  if state ~= '' then
    return { nonce, 'state', state, now }
  end
end

local holder, fenced, led_in = holder_of(KEYS[1])
if holder == token then
  return { nonce, 'lead', mark, now }
end
if holder and (not fenced or holder == following) then
  -- It reads all of the lock, and somebody else's may be of any length.
  local refused = #led_in <= 55 and refusal(redis.pcall('GETEX', KEYS[1]))
  if refused and is_about_writing(refused.err) then
    return refused
  end
  return { nonce, 'follow', holder, redis.call('PTTL', KEYS[1]), mark, led_in, now }
end
redis.call('SET', KEYS[1], trace == '' and token or token .. string.rep(' ', 18) .. trace, 'PX', lease)
return { nonce, 'lead', mark, now }
