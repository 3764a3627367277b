-- FINISH: store the outcome, delete the lock, publish; only while the lock holds the token. The twin of Cell::finish.
--
-- KEYS  lock, state
-- ARGV  nonce, channel, token, envelope, microseconds since the body ended, life in ms, the mark at the election,
--       microseconds of the moment until which a lock that is gone may be taken again, the first
--       pause after a failed refresh in microseconds or '', when the body began or ''
-- Says  nonce, 'stored' | 'spared' | 'lost' | 'fenced' digits; and the time
--
-- The lock goes first: a full Redis refuses to grow, except to a script that has already removed something.
-- PUBLISH comes last, so that its refusal loses nothing.

local nonce, channel, token, envelope = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local ended_ago, life, mark, retake_until, first_pause = ARGV[5], ARGV[6], ARGV[7], tonumber(ARGV[8]), ARGV[9]
local began = tonumber(ARGV[10])

-- Notes in a stored value that another refresh of it failed, and which: whoever has seen it as it was before, and
-- would refresh that, learns that somebody has tried. SETRANGE keeps its expiry.
local function note_failed_refresh(head)
  if redis.call('STRLEN', KEYS[2]) < 68 then
    return
  end
  local failed = string.byte(head, 7)
  local first = tonumber(first_pause)
  local pause = math.min(first * 2 ^ math.min(failed, 16), math.max(60000000, first))
  redis.call('SETRANGE', KEYS[2], 6, string.char(math.min(failed + 1, 255)))
  redis.call('SETRANGE', KEYS[2], 24, mark_of(envelope))
  redis.call('SETRANGE', KEYS[2], 56, eight(now + pause))
end

-- When the body ended: what the leader says, if it can be true. The way here has made `ended_ago` too short: by a
-- moment, or by as long as this server stood still with the question before it. A leader that says otherwise has a
-- wrong idea of this server's clock.
local function computed_at()
  local latest = math.max(0, now - ended_ago)
  local said = struct.unpack('>I8', string.sub(envelope, 41, 48))
  if said <= latest and said >= latest - 60000000 then
    return said
  end
  return latest
end

-- Whether the state is from behind that moment: invalidated, put or computed meanwhile.
local function is_newer(moment)
  local stamp = redis.call('GETRANGE', KEYS[2], 40, 47)
  return #stamp == 8 and struct.unpack('>I8', stamp) >= moment
end

local head = head_of(KEYS[2])
local spares = first_pause ~= '' and status_of(envelope) == 'F' and status_of(head) == 'D'
if mark_of(head) == mark_of(envelope) then
  return { nonce, spares and 'spared' or 'stored', now }
end
local holder, fenced = holder_of(KEYS[1])
if holder ~= token then
  fenced = nil
end
if began and not fenced and is_newer(began) then
  return { nonce, 'lost', now }
end
-- A lock that nobody was heard to grant may be younger than its body, and than an invalidation which it was too late
-- to be fenced by.
if fenced and began and retake_until == 0 then
  fenced = string.format('%.0f', math.min(fenced, began))
end
local retakes = not holder and now < retake_until and mark_of(head) == mark
if holder ~= token and not retakes then
  return { nonce, 'lost', now }
end

local outcome = stamped(envelope, computed_at())
-- Should anything be refused, those who listen get the outcome all the same.
local refused = refusal(redis.pcall('DEL', KEYS[1]))
if refused then
  tell(channel, outcome, fenced)
  return refused
end
if fenced then
  tell(channel, outcome, fenced)
  return { nonce, 'fenced', fenced, now }
end
if spares then
  note_failed_refresh(head)
  tell(channel, outcome)
  return { nonce, 'spared', now }
end
refused = refusal(redis.pcall('SET', KEYS[2], outcome, 'PX', life))
tell(channel, outcome)
if refused then
  return refused
end
return { nonce, 'stored', now }
