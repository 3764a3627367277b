-- What every script starts with: the server's time, the form of a lock, and those bytes of an envelope
-- that are a script's business (format/envelope.rs; Lua counts from 1, so offset 3 is byte 4).
--
-- A lock is the 32 hexadecimal digits of its owner's token; behind them "!" and the 16 digits of a moment once it is
-- fenced, or as many blanks; and behind these a blank and the owner's trace, where it has one.

local clock = redis.call('TIME')
-- A double holds every microsecond exactly until the year 2255.
local now = clock[1] * 1000000 + clock[2]

-- Microseconds as the eight big-endian bytes of the formats.
local function eight(micros)
  return struct.pack('>I8', micros)
end

-- The first bytes of a state, token included; empty when there is none.
local function head_of(state)
  return redis.call('GETRANGE', state, 0, 39)
end

-- A state up to the last byte that its asker takes; empty when there is none. Somebody else's may be of any length.
local function state_of(state, last)
  return redis.call('GETRANGE', state, 0, last)
end

local function status_of(head)
  return string.sub(head, 4, 4)
end

-- The mark by which a caller tells one state from another: whatever stands at the place of the token.
local function mark_of(head)
  return string.sub(head, 25, 40)
end

-- The holder of a lock, the digits of the moment since which it is fenced, and its trace or ''. Nothing when it is free.
local function holder_of(lock)
  -- A lock of ours with its trace, and a byte that none has. GETRANGE says of nothing what it says of an empty text.
  local text = redis.call('GETRANGE', lock, 0, 105)
  if text == '' and not redis.call('GET', lock) then
    return nil, nil
  end
  return string.sub(text, 1, 32), string.match(text, '^!(%d+)', 33), string.sub(text, 51)
end

-- What a command said by way of an error, or nil: a script that goes on behind a refusal tells of it in the end.
local function refusal(answer)
  return type(answer) == 'table' and answer.err and answer or nil
end

-- The same envelope, stamped with the moment its body ended.
local function stamped(envelope, micros)
  return string.sub(envelope, 1, 40) .. eight(micros) .. string.sub(envelope, 49)
end

-- Tells the listeners, with the whole outcome when it is small or will not be stored (format/message.rs).
-- A refusal is not an error: what the script wrote is kept, and followers find it by polling.
local function tell(channel, outcome, fenced)
  local message
  if fenced or #outcome <= 68 + 8192 then
    message = 'O' .. eight(tonumber(fenced or 0)) .. outcome
  else
    message = 'P' .. eight(0) .. string.sub(outcome, 1, 68)
  end
  redis.pcall('PUBLISH', channel, message)
end

