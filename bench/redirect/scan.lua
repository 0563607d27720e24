-- Aliases that do not exist: mostly from addresses that are already rate limited, some from new ones.
local function request_of(address)
  local alias = {}
  for i = 1, 8 do alias[i] = string.char(math.random(97, 122)) end
  return string.format("GET /%s HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: %s\r\n\r\n", table.concat(alias), address)
end

function init()
  math.randomseed(os.time())
end

function request()
  if math.random() < 0.1 then
    return request_of(string.format("10.%d.%d.%d", math.random(0, 255), math.random(0, 255), math.random(0, 255)))
  end
  return request_of(string.format("192.0.2.%d", math.random(0, 255)))
end

function done(summary)
  io.write(string.format("RESULT %d\n", summary.requests))
end
