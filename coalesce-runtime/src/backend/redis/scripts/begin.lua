-- BEGIN: look at the state again, then try the lock. The twin of Cell::begin.
--
-- KEYS  lock, state
-- ARGV  nonce, token, lease in ms, '1' when a mark is given, the mark not wanted, the followed token or ''
-- Says  nonce, 'state' bytes | 'lead' mark | 'follow' holder, ms left, mark; and the time

local nonce, token, lease = ARGV[1], ARGV[2], ARGV[3]
local has_mark, unwanted, following = ARGV[4] == '1', ARGV[5], ARGV[6]

local head = head_of(KEYS[2])
local mark = mark_of(head)
if has_mark and mark ~= unwanted and status_of(head) ~= 'I' then
  local state = redis.call('GET', KEYS[2])
  if state then
    return { nonce, 'state', state, now }
  end
end

local holder, fenced = holder_of(KEYS[1])
if holder == token then
  return { nonce, 'lead', mark, now }
end
if holder and (not fenced or holder == following) then
  return { nonce, 'follow', holder, redis.call('PTTL', KEYS[1]), mark, now }
end
redis.call('SET', KEYS[1], token, 'PX', lease)
return { nonce, 'lead', mark, now }
