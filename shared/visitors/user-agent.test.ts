import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import fc from "fast-check";

import { parseAgent } from "./user-agent.ts";

const WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64)";
const MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)";
const IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_2 like Mac OS X)";
const CHROME = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0";
const WEBKIT = "AppleWebKit/605.1.15 (KHTML, like Gecko)";

/** Browser, system, device and user agent, of browsers, apps and devices in use. */
const corpus = readFileSync(join(import.meta.dir, "fixtures/user-agents.tsv"), "utf8")
  .trim()
  .split("\n")
  .map((line) => line.split("\t"));

describe("a user agent", () => {
  test("is tested with at least two hundred real ones", () => {
    expect(new Set(corpus.map((line) => line.at(-1))).size).toBeGreaterThanOrEqual(200);
  });

  test.each(corpus)("%s on %s, %s: %s", (browser, os, device, userAgent = "") => {
    expect(Object.values(parseAgent(userAgent))).toEqual([
      browser,
      os,
      device,
      undefined,
      undefined,
    ]);
  });

  test.each([
    [`${WINDOWS} ${CHROME} Safari/537.36`, "Chrome", "Windows", "desktop"],
    [`${WINDOWS} ${CHROME} Safari/537.36 Edg/120.0.0.0`, "Edge", "Windows", "desktop"],
    [`${WINDOWS} ${CHROME} Safari/537.36 OPR/106.0.0.0`, "Opera", "Windows", "desktop"],
    [
      "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:121.0) Gecko/20100101 Firefox/121.0",
      "Firefox",
      "Windows",
      "desktop",
    ],
    [
      "Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko",
      "IE",
      "Windows",
      "desktop",
    ],
    [`${MAC} ${WEBKIT} Version/17.2 Safari/605.1.15`, "Safari", "macOS", "desktop"],
    [`${MAC} ${CHROME} Safari/537.36`, "Chrome", "macOS", "desktop"],
    [`Mozilla/5.0 (X11; Linux x86_64) ${CHROME} Safari/537.36`, "Chrome", "Linux", "desktop"],
    [
      "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0",
      "Firefox",
      "Ubuntu",
      "desktop",
    ],
    [
      `Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${CHROME} Safari/537.36`,
      "Chrome",
      "ChromeOS",
      "desktop",
    ],
    [`${IPHONE} ${WEBKIT} Version/17.2 Mobile/15E148 Safari/604.1`, "Safari", "iOS", "mobile"],
    [
      `${IPHONE} ${WEBKIT} CriOS/120.0.6099.119 Mobile/15E148 Safari/604.1`,
      "Chrome",
      "iOS",
      "mobile",
    ],
    [`${IPHONE} ${WEBKIT} Mobile/15E148 Instagram 300.0.0.0.0`, "Instagram", "iOS", "mobile"],
    [
      `${IPHONE} ${WEBKIT} Mobile/15E148 [FBAN/FBIOS;FBAV/440.0.0.0;FBDV/iPhone14,2]`,
      "Facebook",
      "iOS",
      "mobile",
    ],
    [
      `Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) ${WEBKIT} Version/16.6 Mobile/15E148 Safari/604.1`,
      "Safari",
      "iOS",
      "tablet",
    ],
    [
      `Mozilla/5.0 (Linux; Android 10; K) ${CHROME} Mobile Safari/537.36`,
      "Chrome",
      "Android",
      "mobile",
    ],
    [
      "Mozilla/5.0 (Linux; Android 13; SM-S911B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/23.0 Chrome/115.0.0.0 Mobile Safari/537.36",
      "Samsung Internet",
      "Android",
      "mobile",
    ],
    [
      `Mozilla/5.0 (Linux; Android 13; SM-X900) ${CHROME} Safari/537.36`,
      "Chrome",
      "Android",
      "tablet",
    ],
    [
      "Mozilla/5.0 (Android 14; Mobile; rv:121.0) Gecko/121.0 Firefox/121.0",
      "Firefox",
      "Android",
      "mobile",
    ],
    [
      "Mozilla/5.0 (SMART-TV; Linux; Tizen 6.0) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/4.0 Chrome/76.0.3809.146 TV Safari/537.36",
      "Samsung Internet",
      "Tizen",
      "other",
    ],
    [
      `Mozilla/5.0 (PlayStation; PlayStation 5/8.00) ${WEBKIT} Version/15.4 Safari/605.1.15`,
      "Safari",
      "PlayStation",
      "other",
    ],
    ["", "Unknown", "Unknown", "other"],
  ] as const)("%p", (userAgent, browser, os, device) => {
    expect(parseAgent(userAgent)).toEqual({
      browser,
      os,
      device,
      bot: undefined,
      prefetch: undefined,
    });
  });

  test.each([
    "curl/8.5.0",
    "Wget/1.21.4",
    "python-requests/2.31.0",
    "Python/3.11 aiohttp/3.9.1",
    "Go-http-client/1.1",
    "okhttp/4.12.0",
    "axios/1.6.2",
    "node-fetch/1.0 (+https://github.com/bitinn/node-fetch)",
    "PostmanRuntime/7.36.0",
    "Java/17.0.1",
    "Bun/1.4.5",
    "node",
  ])("%p is a person's own program, not a bot", (userAgent) => {
    expect(parseAgent(userAgent).bot).toBeUndefined();
  });

  test.each([
    ["Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "google"],
    ["Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", "bot"],
    ["Twitterbot/1.0", "twitterbot"],
    ["facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)", "facebook"],
    ["Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", "bot"],
    ["TelegramBot (like TwitterBot)", "telegrambot"],
    ["WhatsApp/2.23.20.0", "whatsapp"],
    ["Discordbot/2.0", "discordbot"],
    [
      "LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)",
      "bot",
    ],
    [
      `Mozilla/5.0 (X11; Linux x86_64) ${CHROME.replace("Chrome", "HeadlessChrome")} Safari/537.36`,
      "headless",
    ],
    ["GPTBot/1.0", "gptbot"],
    ["Applebot/0.1", "applebot"],
    ["SkypeUriPreview Preview/0.5", "preview"],
    ["Embedly/0.2", "embedly"],
    ["Mozilla/5.0 (Windows NT 10.0) BingPreview/1.0b", "preview"],
  ])("%p is a bot, by %p", (userAgent, reason) => {
    expect(parseAgent(userAgent).bot).toContain(reason);
  });

  test("is parsed up to its 48th word, and to its fourth Android, beyond those of real ones", () => {
    const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0";
    const browserAfter = (filler: string, count: number) =>
      parseAgent(`${filler.repeat(count)}${firefox}`).browser;
    expect([browserAfter("a ", 42), browserAfter("a ", 48)]).toEqual(["Firefox", "Unknown"]);
    expect(browserAfter("Android;", 4)).toBe("Firefox");
    expect(browserAfter("Android;", 5)).not.toBe("Firefox");
    for (const line of corpus) {
      const userAgent = line.at(-1) ?? "";
      expect(userAgent.split(" ").length).toBeLessThanOrEqual(27);
      expect(userAgent.split(/droid/i).length).toBeLessThanOrEqual(4);
    }
  });

  test("is a bot by a name anywhere in it", () => {
    expect(parseAgent(`${"(a) ".repeat(100)}Googlebot`).bot).toContain("google");
  });

  test("is parsed without an error whatever it is", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), (userAgent) => void parseAgent(userAgent)),
    );
  });
});
