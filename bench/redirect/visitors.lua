-- Requests of many different visitors: browsers, languages, referrers and addresses vary.
local links = 1000
local agents, referrers, languages = {}, {}, {}
local systems = {
  "Windows NT 10.0; Win64; x64", "Macintosh; Intel Mac OS X 10_15_7", "X11; Linux x86_64",
  "Linux; Android 10; K", "Linux; Android 14; SM-S918B", "X11; CrOS x86_64 14541.0.0",
}

function init(args)
  links = tonumber(args[1]) or links
  math.randomseed(42)
  for i = 1, 60 do
    agents[#agents + 1] = string.format(
      "Mozilla/5.0 (%s) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%d.0.0.0 %sSafari/537.36",
      systems[i % #systems + 1], 100 + i, i % 6 == 3 and "Mobile " or "")
    agents[#agents + 1] = string.format("Mozilla/5.0 (%s; rv:%d.0) Gecko/20100101 Firefox/%d.0", systems[i % 3 + 1], 80 + i, 80 + i)
    agents[#agents + 1] = string.format(
      "Mozilla/5.0 (iPhone; CPU iPhone OS %d_%d like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/%d.0 Mobile/15E148 Safari/604.1",
      13 + i % 5, i % 8, 13 + i % 5)
  end
  agents[#agents + 1] = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
  for i = 1, 200 do referrers[i] = string.format("https://site-%d.example/articles/%d", i, i * 37) end
  languages = { "en-US,en;q=0.9", "de-DE,de;q=0.9,en;q=0.8", "fr-FR,fr;q=0.9", "es-ES,es;q=0.8", "pt-BR,pt;q=0.9", "ja" }
end

local function skewed(list)
  return list[math.floor((#list) ^ math.random())]
end

function request()
  local head = string.format("GET /link%06d HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: %d.%d.%d.%d\r\nUser-Agent: %s\r\nAccept-Language: %s\r\n",
    math.floor(links ^ math.random()), math.random(1, 223), math.random(0, 255), math.random(0, 255), math.random(1, 254),
    skewed(agents), skewed(languages))
  if math.random() < 0.5 then head = head .. "Referer: " .. skewed(referrers) .. "\r\n" end
  return head .. "\r\n"
end

function done(summary)
  io.write(string.format("RESULT %d %d\n", summary.requests,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout))
end
