-- Requests with a browser's headers, for aliases drawn uniformly or by Zipf's law (exponent 1).
local count, distribution = 100000, "uniform"
local names = {}

function init(args)
  count = tonumber(args[1]) or count
  distribution = args[2] or distribution
  math.randomseed(42)
  for i = 1, 65536 do
    local rank
    if distribution == "zipf" then
      rank = math.floor(count ^ math.random())
    else
      rank = math.random(1, count)
    end
    names[i] = string.format("GET /link%06d HTTP/1.1\r\nHost: localhost\r\n", rank) ..
      "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36\r\n" ..
      "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n" ..
      "Accept-Language: en-US,en;q=0.9,de;q=0.8\r\nAccept-Encoding: gzip, deflate, br\r\n" ..
      "Referer: https://news.example.com/articles/today\r\nConnection: keep-alive\r\n\r\n"
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
