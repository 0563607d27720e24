/** Parses user agents: browser, operating system, device, and whether it is a person's. */
import { UAParser } from "ua-parser-js";

import { browserName, systemName } from "../agent-names.ts";
import { truncateText } from "../bytes.ts";
import { judgeAgent, type Verdict } from "./automation.ts";

type Device = "mobile" | "desktop" | "tablet" | "other";

export type Agent = {
  browser: string;
  os: string;
  device: Device;
  /** Whether a person sends it, as far as the user agent tells. */
  verdict: Verdict;
};

/** The name of a browser or system that a user agent does not tell. */
export const UNKNOWN_AGENT = "Unknown";

/** The parser truncates to this length itself, but that can split a character. */
const AGENT_LENGTH_MAX = 500;

/**
 * Maximum words that the parser reads, and words `android` among them: its time grows with the
 * square of both, and a text of 62 times `android` took 0.4 ms. The longest real user agent in the
 * tests has 27 words.
 */
const WORDS_MAX = 48;
const ANDROIDS_MAX = 4;

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

/** Parses a user agent. That takes up to a tenth of a millisecond, so callers cache the result. */
export function parseAgent(userAgent: string): Agent {
  const text = truncateText(userAgent, AGENT_LENGTH_MAX);
  const parser = new UAParser(shorten(text));
  const [browser, parsedOs, device] = [parser.getBrowser(), parser.getOS(), parser.getDevice()];
  const toldOs = toOsName(parsedOs.name);
  const platform = findPlatform(text) ?? findOnlyPlatform(text, toldOs);
  return {
    browser: browser.name === undefined ? UNKNOWN_AGENT : browserName(browser.name),
    os: platform?.os ?? toldOs,
    device:
      platform?.device ??
      (browser.name === "Opera Mini" ? "mobile" : toDevice(device.type, toldOs)),
    verdict: judgeAgent(text),
  };
}

/** The beginning of a text, within the bounds of the parser. */
const shorten = (text: string): string =>
  text.slice(
    0,
    Math.min(indexOfMatch(/ /g, WORDS_MAX, text), indexOfMatch(/droid/gi, ANDROIDS_MAX, text)),
  );

/**
 * The index of the pattern's match after the first `count` matches; the end of the text when there
 * is none.
 */
const indexOfMatch = (pattern: RegExp, count: number, text: string): number =>
  [...text.matchAll(pattern)][count]?.index ?? text.length;

const toOsName = (name: string | undefined): string =>
  name === undefined ? UNKNOWN_AGENT : systemName(name);

function toDevice(type: string | undefined, os: string): Device {
  if (type === "mobile" || type === "tablet") return type;
  return type === undefined && DESKTOP_SYSTEMS.has(os) ? "desktop" : "other";
}

type Platform = {
  /** The name of the system; undefined to keep the parser's. */
  os: string | undefined;
  device: Device | undefined;
};

/** Platforms that the parser mistakes for others. The first pattern that matches decides. */
const PLATFORMS: readonly (readonly [RegExp, Platform])[] = [
  [/\bXbox\b|\bXBOX_ONE/i, { os: "Xbox", device: "other" }],
  [/\bPlayStation\b/i, { os: "PlayStation", device: "other" }],
  [/\bNintendo\b/i, { os: "Nintendo", device: "other" }],
  [/\bAppleTV\b|\bApple ?TV\b|\btvOS\b/i, { os: "tvOS", device: "other" }],
  [/\bRoku/i, { os: "Roku", device: "other" }],
  [/\bweb0s\b|\bwebOS\.TV\b|\bLG NetCast\b/i, { os: "webOS", device: "other" }],
  // Names of televisions, set-top boxes and players of discs; `AFT…` are the models of Fire TV.
  [
    /(?:\b|_)(?:smart-?tv|google ?tv|android ?tv|hbbtv|nettv|netrange|inettv|atv|tv|ott|stb|tvbox|tv ?bro|tvbrowser|viera|bravia|vidaa|crkey|aft[a-z0-9]{1,6}|mitv|mibox\w*|netbox|bdplayer|bdp|omi\/\d|tivo|kodi|philipstv|chromecast)(?:\b|_)|\d[a-z]?tv\b|\btv[\d_]|\btv ?(?:box|stick)\b/i,
    { os: undefined, device: "other" },
  ],
  // Apple's networking library names the processor on a Mac only; without it, the system is not
  // known for certain.
  [
    /\bCFNetwork\/[^(]*\((?:x86_64|i386|arm64)\)|^Safari\/[\d.]+ CFNetwork\//,
    { os: "macOS", device: "desktop" },
  ],
  [/\((?:Mac OS|macOS)[/ ,]\d/i, { os: "macOS", device: "desktop" }],
  [/\bFBDV\/WindowsDevice\b|\(Windows\/\d/, { os: "Windows", device: "desktop" }],
  // The parser reads `MIDP; Opera` of a phone with Java as iOS.
  [/\(J2ME\/MIDP;/, { os: UNKNOWN_AGENT, device: "mobile" }],
  // UC Browser shortens the name of Android.
  [/\bUCWEB\/.*\bAdr \d/, { os: "Android", device: "mobile" }],
];

/** Returns the system and device of a user agent that the parser mistakes for another one. */
const findPlatform = (userAgent: string): Platform | undefined =>
  PLATFORMS.find(([pattern]) => pattern.test(userAgent))?.[1];

/**
 * Browsers and apps of a single system: they decide where the user agent names none, or that of a
 * desktop, as phones and tablets do to get a site's desktop version. Names of apps end with
 * the system's: `CriOS`, `TwitterAndroid`.
 */
const ONLY_PLATFORMS: readonly (readonly [RegExp, Platform])[] = [
  [/\bFBDV\/iPad|\biPad\d/, { os: "iOS", device: "tablet" }],
  [/(?:^|[^aA])(?:iOS|IOS)\b|\bFBDV\/iP|\biPh(?:one)?\d/, { os: "iOS", device: "mobile" }],
  [/\bSilk\//, { os: "Android", device: "tablet" }],
  [/\bPuffin\/[\d.]+I[PT]\b/, { os: "iOS", device: undefined }],
  [
    /Android|_android|\bDalvik\/|\bEdgA\/|\bFB4A\b|\bFBAN\/EMA\b|\b(?:Samsung|Miui|Huawei|Vivo|HeyTap|UC|Oculus)Browser\/|\bDuckDuckGo\/|\bPHX\/|\bPuffin\/[\d.]+A[PT]\b/,
    { os: "Android", device: undefined },
  ],
  // What Android's browsers and web views keep of it: the build of the device, the view's version.
  [/ Build\/|\bVersion\/4\.0 Chrome\//, { os: "Android", device: undefined }],
  [/\bMSIE \d|\bTrident\//, { os: "Windows", device: "desktop" }],
  [/\bKonqueror\/|\bEpiphany\//, { os: "Linux", device: "desktop" }],
];

/** Marks of an iPad whose user agent says that it is a Mac. */
const IPAD = /[^aA](?:iOS|IOS)\b|\bGSA\/|\bOP[TX]\/|\bMobile\/\w/;

/** Returns the only system of a browser or app, unless the user agent tells another one. */
function findOnlyPlatform(userAgent: string, toldOs: string): Platform | undefined {
  if (toldOs === "macOS") return IPAD.test(userAgent) ? { os: "iOS", device: "tablet" } : undefined;
  return toldOs === UNKNOWN_AGENT || toldOs === "Linux"
    ? ONLY_PLATFORMS.find(([pattern]) => pattern.test(userAgent))?.[1]
    : undefined;
}
