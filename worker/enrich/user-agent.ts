/** What a click was made with, and whether by a person: all that is read off a user agent string. */
import { isbot, isbotMatches } from "isbot";
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
const GENERIC_CLIENT =
  /^(?:curl|wget|python|python-requests|python-urllib|python-httpx|aiohttp|go-http-client|okhttp|axios|node|node-fetch|undici|bun|deno|java|java-http-client|apache-httpclient|libwww-perl|postmanruntime|insomnia|httpie|ruby|faraday|guzzlehttp|reqwest|dart|got|superagent|php|http\.rb|lynx|links|elinks|w3m|apachebench|hey|oha|k6|vegeta|autocannon|wrk)(?:[/ ]|$)/i;

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
    device: browser.name === "Opera Mini" ? "mobile" : deviceOf(device.type, osName),
    bot: isbot(userAgent) && !GENERIC_CLIENT.test(userAgent) ? botReason(userAgent) : undefined,
  };
}

function deviceOf(type: string | undefined, os: string): Device {
  if (type === "mobile" || type === "tablet") return type;
  return type === undefined && DESKTOP_SYSTEMS.has(os) ? "desktop" : "other";
}

/** The longest name among isbot's matches says most; an address within the string says nothing. */
function botReason(userAgent: string): string {
  const longest = isbotMatches(userAgent)
    .filter((match) => /^[a-z]/i.test(match) && !/^https?/i.test(match))
    .toSorted((a, b) => b.length - a.length)[0];
  return (longest ?? "bot").toLowerCase().slice(0, 64);
}
