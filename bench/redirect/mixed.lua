-- Nine of ten requests follow a link; the others are for an alias that does not exist, or a link with a password.
local links, seed = 100000, 1

function init(args)
  links = tonumber(args[1]) or links
  math.randomseed(tonumber(args[2]) or seed)
end

local fields = " HTTP/1.1\r\nHost: localhost\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36\r\nX-Forwarded-For: "

function request()
  local dice = math.random(1, 20)
  local path = string.format("/link%06d", math.random(1, links))
  if dice == 1 then path = string.format("/no-such-%d", math.random(1, 1000)) end
  if dice == 2 then path = "/secret" end
  local address = string.format("10.%d.%d.%d", math.random(0, 255), math.random(0, 255), math.random(0, 255))
  return "GET " .. path .. fields .. address .. "\r\n\r\n"
end

function done(summary)
  io.write(string.format("RESULT %d %d\n", summary.requests,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout))
end
