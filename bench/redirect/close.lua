-- Requests with a browser's headers, on connections that are closed after a number of requests: exactly after one,
-- on average after more. Aliases are drawn uniformly.
local count, perConnection = 100000, 1
local names = {}

function init(args)
  count = tonumber(args[1]) or count
  perConnection = tonumber(args[2]) or perConnection
  math.randomseed(42)
  for i = 1, 65536 do
    names[i] = string.format("GET /link%06d HTTP/1.1\r\nHost: localhost\r\n", math.random(1, count)) ..
      "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36\r\n" ..
      "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n" ..
      "Accept-Language: en-US,en;q=0.9,de;q=0.8\r\nAccept-Encoding: gzip, deflate, br\r\n" ..
      "Referer: https://news.example.com/articles/today\r\n" ..
      "Connection: " .. (i % perConnection == 0 and "close" or "keep-alive") .. "\r\n\r\n"
  end
end

local at = 0
function request()
  at = at % 65536 + 1
  return names[at]
end

function done(summary, latency)
  io.write(string.format("RESULT %d %d %d %d %d\n", summary.requests, summary.duration,
    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    latency:percentile(50), latency:percentile(99)))
end
