/**
 * Tests the classification of user agents with collections that others maintain, and with rows for
 * each rule.
 */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod";

import { parseAgent } from "./user-agent.ts";

/**
 * HTTP libraries and tools that the collection lists, and which count as the person whose program
 * uses them.
 */
const TOOLS =
  /^(?:Wget|Python|python-\w+|Go-http-client|okhttp|Apache-HttpClient|axios|curl|node-fetch|got|HTTPie)\b/;

/**
 * Browsers of people that the collection takes for bots: in-app browsers, editors, and a browser
 * for single sites.
 */
const PEOPLE = /Instagram|MetaIAB Facebook|\b(?:Code|Trae|Fluid)\/[\d.]+/;

const crawlerSchema = z.array(z.object({ instances: z.array(z.string()) }));
const browserSchema = z.array(z.object({ userAgent: z.string(), deviceCategory: z.string() }));

/** Reads the data of a collection, which is a development dependency. */
const read = (path: string): unknown =>
  JSON.parse(readFileSync(join(import.meta.dir, "../../node_modules", path), "utf8"));

describe("collections of user agents", () => {
  test("every crawler of crawler-user-agents is a bot", () => {
    const instances = crawlerSchema
      .parse(read("crawler-user-agents/crawler-user-agents.json"))
      .flatMap((crawler) => crawler.instances);
    expect(instances.length).toBeGreaterThan(2_000);
    const missed = instances.filter(
      (userAgent) =>
        parseAgent(userAgent).bot === undefined &&
        !TOOLS.test(userAgent) &&
        !PEOPLE.test(userAgent),
    );
    expect(missed).toEqual([]);
  });

  test("every browser of user-agents is a person's, with its system, browser and device", () => {
    const seen = new Map(
      browserSchema
        .parse(read("user-agents/dist/user-agents.json"))
        .map((entry) => [entry.userAgent, entry.deviceCategory]),
    );
    expect(seen.size).toBeGreaterThan(900);
    for (const [userAgent, device] of seen) {
      const agent: object = parseAgent(userAgent);
      expect([userAgent, agent]).toEqual([
        userAgent,
        { ...agent, device, bot: undefined, prefetch: undefined },
      ]);
      expect([userAgent, ...Object.values(agent)]).not.toContain("Unknown");
    }
  });
});

const CHROME = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0";

describe("a program that requests a link before a person opens it", () => {
  test.each([
    ["Mozilla/4.0 (compatible; ms-office; MSOffice 16)", "office"],
    ["Mozilla/4.0 (compatible; ms-office; MSOffice rmj)", "office"],
    ["Microsoft Office/16.0 (Windows NT 10.0; Microsoft Word 16.0.14326; Pro)", "office"],
    ["Microsoft Office Word 2014", "office"],
    ["Microsoft Office Existence Discovery", "office"],
    [
      "Microsoft Office PowerPoint/16.78 (Mac OS/13.5; Desktop; en-US; AppStore; Apple/Mac14,2)",
      "office",
    ],
    [
      "Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; Microsoft Outlook 16.0.5134; ms-office; MSOffice 16)",
      "office",
    ],
    ["Word/16.77 (Mac OS/13.5; Desktop; en-US)", "office"],
    ["LibreOffice 7.6.2 denylistedbackend/8.4.0 OpenSSL/3.0.11", "office"],
    ["Microsoft-WebDAV-MiniRedir/10.0.22621", "webdav"],
    ["MobileSafari/8617.1 CFNetwork/1490.0.4 Darwin/23.2.0", "safari preview"],
    ["com.apple.WebKit.Networking/19617.1 CFNetwork/1490.0.4 Darwin/23.2.0", "safari preview"],
  ])("%p is a prefetch: %p", (userAgent, reason) => {
    expect(parseAgent(userAgent)).toMatchObject({ bot: undefined, prefetch: reason });
  });
});

describe("a platform that the parser takes for another", () => {
  test.each([
    ["Podcasts/1650.1 CFNetwork/1333.0.4 Darwin/21.5.0 (x86_64)", "macOS", "desktop"],
    ["Safari/18617.1 CFNetwork/1490.0.4 Darwin/23.2.0", "macOS", "desktop"],
    ["Things/3.19 CFNetwork/1490.0.4 Darwin/23.2.0", "iOS", "other"],
    [
      `Mozilla/5.0 (Linux; Android 11; BRAVIA 4K VH2 Build/RTT2) ${CHROME} Safari/537.36`,
      "Android",
      "other",
    ],
    [
      `Mozilla/5.0 (Linux; Android 9; AFTKA Build/PS7284) ${CHROME} Safari/537.36`,
      "Android",
      "other",
    ],
    [
      `Mozilla/5.0 (Linux; Android 12; Chromecast Google TV Build/STTE) ${CHROME} Safari/537.36`,
      "Android",
      "other",
    ],
    [
      `Mozilla/5.0 (Linux; Android 9; MIBOX4 Build/PI; wv) ${CHROME} Mobile Safari/537.36`,
      "Android",
      "other",
    ],
    [`Mozilla/5.0 (Web0S; Linux/SmartTV) ${CHROME} Safari/537.36 WebAppManager`, "webOS", "other"],
    ["AppleCoreMedia/1.0.0.20K80 (Apple TV; U; CPU OS 16_1 like Mac OS X; en_us)", "tvOS", "other"],
    [
      "Mozilla/5.0 (Windows NT 10.0; Win64; x64; Xbox; Xbox Series X) AppleWebKit/537.36 Edge/20.02",
      "Xbox",
      "other",
    ],
    [
      "Mozilla/5.0 (PlayStation; PlayStation 5/8.00) AppleWebKit/605.1.15 Version/15.4 Safari/605.1.15",
      "PlayStation",
      "other",
    ],
    [
      "Mozilla/5.0 (Nintendo Switch; WifiWebAuthApplet) AppleWebKit/606.4 NF/6.0 NintendoBrowser/5.1",
      "Nintendo",
      "other",
    ],
    ["Roku/DVP-12.5 (12.5.0.4178)", "Roku", "other"],
    // A phone stays one.
    [
      `Mozilla/5.0 (Linux; Android 13; Pixel 7) ${CHROME} Mobile Safari/537.36`,
      "Android",
      "mobile",
    ],
  ])("%p: %p, %p", (userAgent, os, device) => {
    expect(parseAgent(userAgent)).toMatchObject({ os, device });
  });
});

describe("an app whose name resembles a bot's", () => {
  test.each([
    `Mozilla/5.0 (Linux; Android 12; Pixel 6; wv) ${CHROME} Mobile Safari/537.36 com.google.android.youtube/18.01`,
    `Mozilla/5.0 (Linux; Android 4.4.2; Discovery Elite) ${CHROME} Mobile Safari/537.36`,
    `Mozilla/5.0 (Linux; Android 7.0; T25; wv) ${CHROME} Mobile Safari/537.36 SGInfo/720/1280 SogouSearch Android1.0`,
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) AppleNews/607 Version/2.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) GSA/297.0.5 Mobile/15E148 Safari/604.1",
    `Mozilla/5.0 (Linux; Android 11; Arcelik Google TV Build/RTM6; wv) ${CHROME} Mobile Safari/537.36`,
  ])("%p is a person's", (userAgent) => {
    expect(parseAgent(userAgent).bot).toBeUndefined();
  });

  test("does not hide a bot that poses as a phone", () => {
    const phone = `Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) ${CHROME} Mobile Safari/537.36`;
    const bot = "(compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
    expect(parseAgent(`${phone} ${bot}`).bot).toBeDefined();
    expect(parseAgent("http.rb/5.1.1 (Mastodon/4.2.0; +https://example.social/)").bot).toBe(
      "mastodon",
    );
  });
});
