/** Tests the names of user agents, and where one tells the wrong system or device. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import fc from "fast-check";
import * as z from "zod";

import { parseAgent } from "./user-agent.ts";

const WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64)";
const MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)";
const CHROME = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0";
const WEBKIT = "AppleWebKit/605.1.15 (KHTML, like Gecko)";

/** Browser, system, device and user agent, of browsers, apps and devices in use. */
const corpus = readFileSync(join(import.meta.dir, "fixtures/user-agents.tsv"), "utf8")
  .trim()
  .split("\n")
  .map((line) => line.split("\t"));

const PERSON = { class: "human", reason: "" } as const;

describe("a user agent", () => {
  test.each(corpus)("%s on %s, %s: %s", (browser, os, device, userAgent = "") => {
    expect(Object.values(parseAgent(userAgent))).toEqual([browser, os, device, PERSON]);
  });

  test("may be missing, and tells nothing then", () => {
    const verdict = { class: "bot", reason: "empty" } as const;
    expect(parseAgent("")).toEqual({
      browser: "Unknown",
      os: "Unknown",
      device: "other",
      verdict,
    });
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

  test("is parsed without an error whatever it is", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), (userAgent) => void parseAgent(userAgent)),
    );
  });
});

test("every browser of user-agents is a person's, with its system, browser and device", () => {
  const path = "../../node_modules/user-agents/dist/user-agents.json";
  const seen = new Map(
    z
      .array(z.object({ userAgent: z.string(), deviceCategory: z.string() }))
      .parse(JSON.parse(readFileSync(join(import.meta.dir, path), "utf8")))
      .map((entry) => [entry.userAgent, entry.deviceCategory]),
  );
  expect(seen.size).toBeGreaterThan(900);
  for (const [userAgent, device] of seen) {
    const agent: object = parseAgent(userAgent);
    expect([userAgent, agent]).toEqual([userAgent, { ...agent, device, verdict: PERSON }]);
    expect([userAgent, ...Object.values(agent)]).not.toContain("Unknown");
  }
});

describe("a platform that the parser takes for another", () => {
  test.each([
    ["Podcasts/1650.1 CFNetwork/1333.0.4 Darwin/21.5.0 (x86_64)", "macOS", "desktop"],
    ["Safari/18617.1 CFNetwork/1490.0.4 Darwin/23.2.0", "macOS", "desktop"],
    ["Things/3.19 CFNetwork/1490.0.4 Darwin/23.2.0", "iOS", "other"],
    ["AppleCoreMedia/1.0.0.20K80 (Apple TV; U; CPU OS 16_1 like Mac OS X; en_us)", "tvOS", "other"],
    ["Roku/DVP-12.5 (12.5.0.4178)", "Roku", "other"],
  ])("%p: %p, %p", (userAgent, os, device) => {
    expect(parseAgent(userAgent)).toMatchObject({ os, device });
  });
});

describe("a browser or an app that exists on one system only", () => {
  const desktopMac = `${MAC} ${WEBKIT}`;
  const desktopLinux = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)";

  test.each([
    // Facebook's apps, by their own names for themselves.
    ["[FBAN/FB4A;FBAV/390.0.0.27.105;FBPN/com.facebook.katana;FBDV/SM-G991B]", "Android", "mobile"],
    ["[FBAN/EMA;FBBV/410;FBAV/380.0;FBDV/SM-J700H;FBLC/en_US]", "Android", "mobile"],
    ["(null) [FBAN/FBIOS;FBAV/15.0.0.16.28;FBDV/iPhone6,1]", "iOS", "mobile"],
    ["[FBAN/MessengerForiOS;FBAV/400.0;FBDV/iPhone12,1]", "iOS", "mobile"],
    ["[FBAN/FBIOS;FBAV/440.0;FBDV/iPad13,1;FBMD/iPad]", "iOS", "tablet"],
    // Browsers of an iPad, which asks for the desktop's version of each site.
    [`${desktopMac} CriOS/120 Version/11.1.1 Safari/605.1.15`, "iOS", "tablet"],
    [`${desktopMac} FxiOS/120.0 Safari/605.1.15`, "iOS", "tablet"],
    [`${desktopMac} Version/17.0 EdgiOS/120.0 Safari/605.1.15`, "iOS", "tablet"],
    [`${desktopMac} OPT/4.5.0 Safari/605.1.15`, "iOS", "tablet"],
    [`${desktopMac} GSA/297.0 Mobile/15E148 Safari/604.1`, "iOS", "tablet"],
    [`${desktopMac} Mobile/15E148 Instagram 300.0`, "iOS", "tablet"],
    [`${desktopMac} Mobile/15E148 [FBAN/FBIOS;FBDV/iPad8,9]`, "iOS", "tablet"],
    // Browsers of Android that ask for it.
    [`${desktopLinux} Chrome/120.0.0.0 Safari/537.36 EdgA/120.0.0.0`, "Android", "desktop"],
    [`${desktopLinux} SamsungBrowser/23.0 Chrome/115.0.0.0 Safari/537.36`, "Android", "desktop"],
    [`${desktopLinux} Chrome/120 Safari/537.36 XiaoMi/MiuiBrowser/13.0`, "Android", "desktop"],
    [`${desktopLinux} HuaweiBrowser/13.0 Chrome/99 Safari/537.36`, "Android", "desktop"],
    [`${desktopLinux} Chrome/120 Safari/537.36 HeyTapBrowser/40.7`, "Android", "desktop"],
    [`${desktopLinux} Chrome/119.0.0.0 DuckDuckGo/5 Safari/537.36`, "Android", "desktop"],
    [`${desktopLinux} Chrome/110 PHX/13.1 Safari/537.36`, "Android", "desktop"],
    [`${desktopLinux} Chrome/79 Safari/537.36 Puffin/9.7.2.51367AP`, "Android", "desktop"],
    [`${desktopLinux} Chrome/79 Safari/537.36 Puffin/5.2.2IP`, "iOS", "desktop"],
    [`${desktopLinux} OculusBrowser/30.2 Chrome/118 VR Safari/537.36`, "Android", "desktop"],
    [
      "Mozilla/5.0 (X11; U; Linux x86_64; en-us) AppleWebKit/533.1 UCBrowser/13.4.0.1306 U3/0.8.0 Mobile Safari/533.1",
      "Android",
      "mobile",
    ],
    // Its web view, and its first browser, in that version.
    [`${desktopLinux} Version/4.0 Chrome/114 Safari/537.36 WeChat/arm64`, "Android", "desktop"],
    [
      "Mozilla/5.0 (X11; U; Linux x86_64; en-gb; SM-N9005 Build/LRX21V) AppleWebKit/537.16 (KHTML, like Gecko) Version/4.0 Safari/537.16 Chrome/33.0",
      "Android",
      "mobile",
    ],
    [`${desktopLinux} Silk/108.4 like Chrome/108 Safari/537.36`, "Android", "tablet"],
    // Apps that tell only themselves.
    ["Pinterest for iOS/7.11 (iPhone7,2; 12.1.4)", "iOS", "mobile"],
    ["Outlook-iOS/696.1188109.prod.iphone (2.102.0)", "iOS", "mobile"],
    ["dv(iPh9,2);pr(UCBrowser/11.3.5.1203);ov(15_7_4);ss(414x736)", "iOS", "mobile"],
    ["Mozilla/5.0 AppleWebKit/605.1.15 Mobile/15E148 YaApp_iOS/70.0", "iOS", "mobile"],
    ["Dalvik/2.1.0", "Android", "other"],
    ["Mozilla/5.0 (compatible; MSIE 9.0; Trident/5.0)", "Windows", "desktop"],
    ["Mozilla/5.0 (compatible; Konqueror/4.5) KHTML/4.5.4 (like Gecko)", "Linux", "desktop"],
  ])("%p: %p, %p", (userAgent, os, device) => {
    expect(parseAgent(userAgent)).toMatchObject({ os, device, verdict: PERSON });
  });

  test.each([
    [`${WINDOWS} ${CHROME} Safari/537.36 SamsungBrowser/27.0`, "Windows", "desktop"],
    ["Mozilla/5.0 (Mobile; rv:48.0) Gecko/48.0 Firefox/48.0 KAIOS/2.5", "KAIOS", "mobile"],
    [`${MAC} ${WEBKIT} Version/17.2 Safari/605.1.15`, "macOS", "desktop"],
    [
      "Mozilla/5.0 (SMART-TV; Linux; Tizen 6.0) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/4.0 Chrome/76.0 TV Safari/537.36",
      "Tizen",
      "other",
    ],
  ])("does not hide another one that is told, %p: %p, %p", (userAgent, os, device) => {
    expect(parseAgent(userAgent)).toMatchObject({ os, device });
  });
});
