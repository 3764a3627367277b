-- RENEW: give each of these locks its lease again. The twin of Cell::renew, for many keys.
--
-- KEYS  lock, state; lock, state; ...
-- ARGV  nonce; then for each pair: token, the mark at its election, lease in ms, microseconds of the moment until
--       which a lock that is gone may be taken again
-- Says  nonce, 'renewed', for each pair 'held' | 'lost' | 'foreign' | 'denied' | 'copy' | 'refused' | digits of the moment
--       since which it is fenced; and the time
--
-- Each pair is tried on its own: one key of a foreign type must not cost a hundred others their lease. Such a key has
-- no other leader: it is no reason to send the callers of this one away.

local function renew(lock, state, token, mark, lease, retake_until)
  local holder, fenced = holder_of(lock)
  if holder == token then
    redis.call('PEXPIRE', lock, lease)
    return fenced or 'held'
  end
  if not holder and now < tonumber(retake_until) and mark_of(head_of(state)) == mark then
    redis.call('SET', lock, token, 'PX', lease)
    return 'held'
  end
  return 'lost'
end

-- Why a pair was not renewed, as the coordinator names it. A missing right has other words in each version.
local function why(text)
  local function says(words)
    return string.find(text, words, 1, true)
  end
  if says('WRONGTYPE') then
    return 'foreign'
  elseif says("The user executing the script can't ") or says('ACL failure in script: ') then
    return 'denied'
  elseif says("READONLY You can't write") then
    return 'copy'
  end
  return 'refused'
end

local said = { ARGV[1], 'renewed' }
for pair = 1, #KEYS / 2 do
  local at = 4 * pair - 2
  local fine, answer = pcall(renew, KEYS[2 * pair - 1], KEYS[2 * pair], unpack(ARGV, at, at + 3))
  local text = type(answer) == 'table' and answer.err or answer
  said[#said + 1] = fine and answer or why(text)
end
said[#said + 1] = now
return said
