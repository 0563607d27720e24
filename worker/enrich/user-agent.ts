/** What a click was made with, and whether by a person: all that is read off a user agent string. */
import { createIsbotFromList, isbotMatches, isbotPattern, isbotPatterns, list } from "isbot";
import { LRUCache } from "lru-cache";
import { UAParser } from "ua-parser-js";

export type Device = "mobile" | "desktop" | "tablet" | "other";

export type Agent = {
  browser: string;
  os: string;
  device: Device;
  /** What in the string gives a bot away; undefined for a person's. */
  bot: string | undefined;
};

/** Strings remembered: parsing one takes far longer than finding it. */
const REMEMBERED_MAX = 20_000;

const UNKNOWN = "Unknown";

/**
 * Libraries and tools that people's own programs use. They are no crawlers: a script that follows a
 * link counts like its owner.
 */
const GENERIC_CLIENTS = [
  "curl/8.5.0",
  "Wget/1.21.4",
  "python-requests/2.31.0",
  "Python-urllib/3.11",
  "python-httpx/0.27.0",
  "aiohttp/3.9.1",
  "Python/3.11 aiohttp/3.9.1",
  "Go-http-client/1.1",
  "okhttp/4.12.0",
  "axios/1.6.2",
  "node-fetch/1.0 (+https://github.com/bitinn/node-fetch)",
  "undici",
  "node",
  "Bun/1.4.5",
  "Deno/2.0.0",
  "Java/17.0.1",
  "Java-http-client/17.0.1",
  "Apache-HttpClient/4.5.13 (Java/11.0.9)",
  "libwww-perl/6.67",
  "PostmanRuntime/7.36.0",
  "insomnia/8.4.5",
  "HTTPie/3.2.2",
  "Ruby",
  "Faraday v2.7.0",
  "GuzzleHttp/7",
  "reqwest/0.11",
  "Dart/3.2 (dart:io)",
];

const isBot = createIsbotFromList(withoutGenericClients());

/** isbot's patterns but for those that know a generic client, unless they mean crawlers by word. */
function withoutGenericClients(): string[] {
  const generic = new Set(GENERIC_CLIENTS.flatMap((client) => isbotPatterns(client)));
  return list.filter((pattern) => !generic.has(pattern));
}

const OS_NAMES: Record<string, string> = { "Mac OS": "macOS", "Chromium OS": "ChromeOS" };

const DESKTOP_SYSTEMS = new Set([
  "Windows",
  "macOS",
  "Linux",
  "Ubuntu",
  "Debian",
  "Fedora",
  "ChromeOS",
  "FreeBSD",
  "OpenBSD",
  "Arch",
  "Mint",
  "SUSE",
  "CentOS",
  "RedHat",
  "GNU",
  "Solaris",
]);

/** Creates the parser with its memory. */
export function createAgentParser() {
  const remembered = new LRUCache<string, Agent>({ max: REMEMBERED_MAX });
  return (userAgent: string): Agent => {
    const known = remembered.get(userAgent);
    if (known !== undefined) return known;
    const agent = parseAgent(userAgent);
    remembered.set(userAgent, agent);
    return agent;
  };
}

/** Reads one string. */
export function parseAgent(userAgent: string): Agent {
  const { browser, os, device } = new UAParser(userAgent).getResult();
  const osName = os.name === undefined ? UNKNOWN : (OS_NAMES[os.name] ?? os.name);
  return {
    browser: browser.name?.replace(/^Mobile /, "") ?? UNKNOWN,
    os: osName,
    device: deviceOf(device.type, osName),
    bot: isBot(userAgent) ? botReason(userAgent) : undefined,
  };
}

function deviceOf(type: string | undefined, os: string): Device {
  if (type === "mobile" || type === "tablet") return type;
  return type === undefined && DESKTOP_SYSTEMS.has(os) ? "desktop" : "other";
}

/** The longest match says most; isbot's pattern stands in where a match is empty. */
function botReason(userAgent: string): string {
  const longest = isbotMatches(userAgent).toSorted((a, b) => b.length - a.length)[0];
  return (longest ?? isbotPattern(userAgent) ?? "bot").toLowerCase().slice(0, 64);
}
