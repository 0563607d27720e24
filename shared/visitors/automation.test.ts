/**
 * Goal: people's visits count, whatever apps and devices write into their user agents, and programs
 * do not. Tested with collections that others maintain, and with rows for each step of the rule.
 */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod";

import { announcesFetch, isPreviewAgent, judgeAgent, judgeRequest } from "./automation.ts";

const PERSON = { class: "human", reason: "" } as const;

const read = (path: string): string => readFileSync(join(import.meta.dir, path), "utf8");

/** Whether an agent is judged to be what the collection says. */
const isRight = (kind: string, userAgent: string): boolean =>
  (judgeAgent(userAgent).class === "human") === (kind === "person");

describe("collections of user agents", () => {
  test("people's browsers and apps are told from bots, except those that are marked", () => {
    const agents = read("fixtures/agents.tsv")
      .trim()
      .split("\n")
      .filter((line) => !line.startsWith("#"))
      .map((line) => line.split("\t"));
    for (const kind of ["person", "bot"]) {
      const ofKind = agents.filter(([name]) => name === kind);
      const right = ofKind.filter(([, , , userAgent = ""]) => isRight(kind, userAgent));
      console.log(`${kind}: ${right.length} of ${ofKind.length} judged right`);
      expect(right.length / ofKind.length).toBeGreaterThan(0.95);
    }
    const misjudged = agents.filter(([kind = "", , , userAgent = ""]) => !isRight(kind, userAgent));
    expect(misjudged).toEqual(agents.filter(([, , mark]) => mark === "misjudged"));
  });

  test("every crawler of crawler-user-agents is automated", () => {
    /** Tools, which count as the person whose program uses them. */
    const tools =
      /^(?:Wget|Python|python-\w+|Go-http-client|go-resty|okhttp|Apache-HttpClient|axios|curl|PHP-Curl-Class|node-fetch|got|HTTPie)\b/;
    /** In-app browsers, editors, a browser for single sites, and a URL as of Explorer's toolbars. */
    const people =
      /Instagram|MetaIAB Facebook|\b(?:Code|Trae|Fluid)\/[\d.]+|www\.changedetection\.com/;
    const instances = z
      .array(z.object({ instances: z.array(z.string()) }))
      .parse(JSON.parse(read("../../node_modules/crawler-user-agents/crawler-user-agents.json")))
      .flatMap((crawler) => crawler.instances);
    expect(instances.length).toBeGreaterThan(2_000);
    const missed = instances.filter(
      (userAgent) =>
        judgeAgent(userAgent).class === "human" &&
        !tools.test(userAgent) &&
        !people.test(userAgent),
    );
    expect(missed).toEqual([]);
  });
});

const CHROME = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0";

const IPHONE =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 17_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)";

const WEB_VIEW =
  "Mozilla/5.0 (Linux; Android 12; LGE-AN10 Build/HONORLGE-AN10; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/86.0.4240.99";

describe("a browser or a web view, whose parts resemble a bot's,", () => {
  test.each([
    // WeChat: the process of its web view.
    `${WEB_VIEW} XWEB/3211 MMWEBSDK/20220303 Mobile Safari/537.36 MMWEBID/7223 MicroMessenger/8.0.19.2080(0x28001368) Process/toolsmp WeChat/arm64 Weixin NetType/5G Language/zh_CN ABI/arm64`,
    `${WEB_VIEW} MQQBrowser/6.2 TBS/044408 Mobile Safari/537.36 MMWEBID/347 MicroMessenger/7.0.1380(0x2700003A) Process/tools NetType/WIFI`,
    // Alipay, Taobao and Lazada: sizes with bars, and ids that look like addresses.
    `${IPHONE} Mobile/14D27 ChannelId(11) Nebula PSDType(1) AlipayDefined(nt:WIFI,ws:375|647|2.0) AliApp(AP/10.0.3.020920) AlipayClient/10.0.3.020920`,
    `${WEB_VIEW} UCBrowser/11.9.4.974 Mobile Safari/537.36 AliApp(TB/7.8.3) TTID/600000@taobao_android_7.8.3 WindVane/8.3.0 1080X2016`,
    `${WEB_VIEW} UWS/3.22.1.227 Mobile Safari/537.36 AliApp(LA/7.12.0) TTID/600000@lazada_android_7.12.0 WindVane/8.5.0 720X1449`,
    // Names of apps, their shops and their ways of delivery.
    `${IPHONE} GoogleLens/303.0 Mobile/21C66 Safari/604.1 [WebViewInline]`,
    `${IPHONE} Mobile/15E148 WebViewApp WallaNews/9.8.2/IOS`,
    `${WEB_VIEW} Mobile Safari/537.36 JsKit/1.0 (Android) SohuNews/5.7.3 BuildCode/113`,
    `${WEB_VIEW} Mobile Safari/537.36 [air.com.A888poker/1.0]`,
    `${WEB_VIEW} Mobile Safari/537.36 /App/JOKERBET/1.0.12/102/Google/ZTE/EEA_P963F65`,
    `${WEB_VIEW} Mobile Safari/537.36 com.google.android.youtube/18.01`,
    `${WEB_VIEW} Mobile Safari/537.36 SGInfo/720/1280 SogouSearch Android1.0`,
    `${IPHONE} AppleNews/607 Version/2.0`,
    `${IPHONE} GSA/297.0.5 Mobile/15E148 Safari/604.1`,
    `Mozilla/5.0 (Windows NT 6.3; WOW64) ${CHROME} Torrent/44.0.1.3 Safari/537.36`,
    `Mozilla/5.0 (Linux; Android 5.1.1) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Blue Proxy/1.0.18 Chrome/74.0.3729.157 Mobile Safari/537.36`,
    // Models of devices.
    `Mozilla/5.0 (Linux; U; Android 4.2.2; it-it; S222 Build/CUBOT) ${CHROME} Mobile Safari/534.30`,
    `Mozilla/5.0 (Linux; Android 7.0; M bot 54 Build/NRD90M) ${CHROME} Mobile Safari/537.36`,
    `Mozilla/5.0 (Linux; U; Android 4.2.2; ar-il; GM Discovery tab 8 Build/JDQ39) ${CHROME} Safari/534.30`,
    `Mozilla/5.0 (Linux; Android 11; Arcelik Google TV Build/RTM6; wv) ${CHROME} Mobile Safari/537.36`,
    // What sites and toolbars put into the comment of Internet Explorer.
    "Mozilla/5.0 (Windows NT 6.1; Trident/7.0; https://intranet.example.com/; rv:11.0) like Gecko",
    "Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 5.1; QQDownload 1.7; .NET CLR 2.0.50727)",
    // Apps that call themselves no Mozilla.
    "[FBAN/FB4A;FBAV/390.0.0.27.105;FBPN/com.facebook.katana;FBDV/SM-G991B;FBSV/12]",
    "com.eurosport.news.android/3.7.3/Android/4.1.2/HTC-HTC Desire 500",
    "dv(iPh14,3);pr(UCBrowser/11.3.5.1203);ov(15_0_1);ss(414x736);bt(GJ);pm(0);bv(0);nm(0);im(0);nt(2);",
    "SonyEricssonW902/R3CA Browser/NetFront/3.4 Profile/MIDP-2.1 Configuration/CLDC-1.1 JavaPlatform/JP-8.3.1",
  ])("%p is a person's", (userAgent) => {
    expect(judgeAgent(userAgent)).toEqual(PERSON);
  });
});

describe("a person's own program", () => {
  test.each([
    "curl/8.5.0",
    "Dillo/3.0.5",
    "NetSurf/3.10 (Linux)",
    "Wget/1.21.4",
    "python-requests/2.31.0",
    "Python/3.11 aiohttp/3.9.1",
    "Go-http-client/1.1",
    "okhttp/4.12.0",
    "axios/1.6.2",
    "node-fetch/1.0 (+https://github.com/bitinn/node-fetch)",
    "PHP-Curl-Class/9.5.1 (+https://github.com/php-curl-class/php-curl-class)",
    "PostmanRuntime/7.36.0",
    "Java/17.0.1",
    "reqwest/0.12.4",
    "Bun/1.4.5",
    "node",
  ])("%p counts as its owner", (userAgent) => {
    expect(judgeAgent(userAgent)).toEqual(PERSON);
  });
});

describe("a bot", () => {
  const phone = `Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) ${CHROME} Mobile Safari/537.36`;

  test.each([
    // No user agent.
    ["", "empty"],
    ["  ", "empty"],
    // By its name.
    ["Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "googlebot"],
    [`${phone} (compatible; Googlebot/2.1; +http://www.google.com/bot.html)`, "googlebot"],
    ["Twitterbot/1.0", "twitterbot"],
    ["Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", "slackbot-linkexpanding"],
    ["Mozilla/5.0 (Windows NT 10.0) BingPreview/1.0b", "bingpreview"],
    [`Mozilla/5.0 (X11; Linux x86_64) ${CHROME} HeadlessChrome/120`, "headlesschrome"],
    [`Mozilla/5.0 (X11; Linux x86_64; GTmetrix https://gtmetrix.com/) ${CHROME}`, "gtmetrix.com"],
    [`${phone} PTST/391`, "ptst"],
    ["python-requests/2.31.0 ExampleBot/1.0", "examplebot"],
    [`${"(a) ".repeat(100)}Googlebot`, "googlebot"],
    // By its name alone, where a link-preview agent is known by it.
    [
      "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
      "facebookexternalhit",
    ],
    ["WhatsApp/2.23.20.0 A", "whatsapp"],
    ["http.rb/5.1.1 (Mastodon/4.2.0; +https://example.social/)", "mastodon"],
    // By a name after `compatible`.
    ["Mozilla/5.0 (compatible; Nimbostratus; Cloud)", "nimbostratus"],
    [`${phone} (compatible; Example/1.0)`, "example"],
    // By a URL or an address.
    ["Example/1.0 (+https://example.com/about)", "example.com"],
    [
      `Mozilla/5.0 (Windows NT 10.0) ${CHROME} Example/1.0 (via http://www.example.com/)`,
      "www.example.com",
    ],
    [`Mozilla/5.0 (X11; Linux x86_64) ${CHROME} (research@example.org)`, "research@example.org"],
    [`Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) example.com/policy ${CHROME}`, "example.com"],
    [
      "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)",
      "via ggpht.com googleimageproxy",
    ],
    // By the list of bots, where nothing tells of a person's device.
    ["Embedly/0.2", "embedly"],
    ["Iframely/1.3.1", "iframely"],
  ])("%p is one: %p", (userAgent, reason) => {
    expect(judgeAgent(userAgent)).toEqual({ class: "bot", reason });
  });
});

describe("a program that requests a link before a person opens it", () => {
  test.each([
    ["Mozilla/4.0 (compatible; ms-office; MSOffice 16)", "office"],
    ["Microsoft Office/16.0 (Windows NT 10.0; Microsoft Word 16.0.14326; Pro)", "office"],
    ["Microsoft Office Word 2014", "office"],
    ["Microsoft Office Existence Discovery", "office"],
    [
      "Microsoft Office PowerPoint/16.78 (Mac OS/13.5; Desktop; en-US; AppStore; Apple/Mac14,2)",
      "office",
    ],
    ["Word/16.77 (Mac OS/13.5; Desktop; en-US)", "office"],
    ["Mozilla/5.0 (Macintosh; Intel Mac OS X) Word/14.0.0", "office"],
    ["LibreOffice 7.6.2 denylistedbackend/8.4.0 OpenSSL/3.0.11", "office"],
    ["Microsoft-WebDAV-MiniRedir/10.0.22621", "webdav"],
    ["MobileSafari/8617.1 CFNetwork/1490.0.4 Darwin/23.2.0", "safari preview"],
    ["com.apple.WebKit.Networking/19617.1 CFNetwork/1490.0.4 Darwin/23.2.0", "safari preview"],
  ])("%p is a prefetch: %p", (userAgent, reason) => {
    expect(judgeAgent(userAgent)).toEqual({ class: "prefetch", reason });
  });
});

test.each([
  ["prefetch", true],
  ["prefetch;anonymous-client-ip", true],
  ["prefetch;prerender", true],
  ["prefetch; prerender; preview", true],
  ["Prefetch", true],
  ["prerender", true],
  ["preview", true],
  // As Chrome's Instant sent it.
  [": preview", true],
  ["instant", true],
  ["preload", true],
  ["microsummary", true],
  ["livebookmarks", true],
  ["", false],
  ["navigate", false],
  ["marketing", false],
])("the purpose %p announces a fetch ahead of a person: %p", (value, expected) => {
  expect(announcesFetch(value)).toBe(expected);
});

test("a request is a bot's by its agent before its headers, and a prefetch before a part of a page", () => {
  const bot = judgeAgent("Twitterbot/1.0");
  const office = judgeAgent("Microsoft Office Word 2014");
  const judge = (agent: typeof bot, prefetch: boolean, embedded: boolean) =>
    judgeRequest(agent, { prefetch, embedded }).reason;
  expect([
    judge(bot, true, true),
    judge(office, false, false),
    judge(PERSON, true, true),
    judge(PERSON, false, true),
    judge(PERSON, false, false),
  ]).toEqual(["twitterbot", "office", "purpose header", "embedded", ""]);
});

test.each([
  "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
  // iMessage.
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0",
  "facebookexternalhit/1.1; kakaotalk-scrap/1.0; +https://devtalk.kakao.com/t/scrap/33984",
  "facebookexternalhit/1.1;line-poker/1.0",
  "WhatsApp/2.23.20.0 A",
  "WhatsApp/2",
  "Twitterbot/1.0",
  "LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)",
  "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
  "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
  "TelegramBot (like TwitterBot)",
  "Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com",
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/134.0.0.0 Safari/537.36 Edg/134.0.0.0 MicrosoftPreview/2.0 +https://aka.ms/MicrosoftPreview",
  "Mozilla/5.0 (compatible; redditbot/1.0; +http://www.reddit.com/feedback)",
  "Mozilla/5.0 (compatible; Snap URL Preview Service; bot; snapchat; https://developers.snap.com/robots)",
  "Mozilla/5.0 (compatible; Bluesky Cardyb/1.1; +mailto:support@bsky.app)",
  "http.rb/5.2.0 (Mastodon/4.3.0; +https://mastodon.social/)",
  "Mastodon/4.4.0 (http.rb/5.3.1; +https://mastodon.social/) Bot",
  "Synapse (bot; +https://github.com/matrix-org/synapse)",
  "Mattermost-Bot/1.1",
  "Mozilla/5.0 (compatible; vkShare; +http://vk.com/dev/Share)",
  "Iframely/1.3.1 (+https://iframely.com/docs/about)",
  "Mozilla/5.0 (compatible; Embedly/0.2; +http://support.embed.ly/)",
  // Pinterest.
  "Mozilla/5.0 (compatible; Pinterestbot/1.0; +https://www.pinterest.com/bot.html)",
  "Pinterest/0.2 (+http://www.pinterest.com/)",
  // Google Messages and Google Chat.
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/123.0.0.0 Safari/537.36 GoogleMessages/15.1",
  "GoogleMessages",
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/56.0.2924.87 Safari/537.36 Google (+https://developers.google.com/+/web/snippet/)",
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/56.0.2924.87 Safari/537.36 Google-PageRenderer Google (+https://developers.google.com/+/web/snippet/)",
  "Mozilla/5.0 (compatible; ZulipURLPreview/9.2; +https://chat.example.org)",
  "Lemmy/0.19.8; +https://lemmy.example.org",
  "SummalyBot/5.1.0",
  "Misskey/13.10.0 (https://misskey.example.org)",
  "ViberUrlDownloader",
  "NotionEmbedder",
  "Notion/1.0 (https://notion.so; team@makenotion.com)",
])("%s asks for previews", (userAgent) => {
  expect(isPreviewAgent(userAgent)).toBe(true);
});

test.each([
  "",
  // The browsers inside apps that also send preview agents.
  "Mozilla/5.0 (Linux; Android 14; SM-S911B Build/UP1A.231005.007; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/126.0.6478.122 Mobile Safari/537.36 WhatsApp/2.24.13.78",
  "Mozilla/5.0 (iPhone; CPU iPhone OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [FBAN/FBIOS;FBAV/430.0.0.32.102;FBBV/514273236;FBDV/iPhone13,2]",
  "Mozilla/5.0 (iPhone; CPU iPhone OS 17_2_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [LinkedInApp]/9.29.5723",
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Slack/4.36.140 Chrome/120.0.6099.227 Electron/28.2.0 Safari/537.36",
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) discord/1.0.9147 Chrome/120.0.6099.291 Electron/28.2.10 Safari/537.36",
  "Mozilla/5.0 (Linux; Android 13; Pixel 6; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/115.0.5790.166 Mobile Safari/537.36 TwitterAndroid",
  "Mozilla/5.0 (iPad; CPU OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [Pinterest/iOS]",
  "Pinterest/3.3.3 CFNetwork/609.1.4 Darwin/13.0.0",
  "Mozilla/5.0 (Linux; Android 9; SM-G950F; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/79.0.3945.79 Mobile Safari/537.36 Viber/12.0.0.4",
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Notion/2.0.23 Chrome/91.0.4472.164 Electron/13.6.9 Safari/537.36",
  // Search engines.
  "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
  "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/103.0.5060.134 Safari/537.36",
  "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)",
  // Others that fetch without a person.
  "meta-externalagent/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)",
  "Slackbot 1.0 (+https://api.slack.com/robots)",
  "curl/8.9.1",
])("%s follows links", (userAgent) => {
  expect(isPreviewAgent(userAgent)).toBe(false);
});
