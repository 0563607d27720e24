/**
 * Rules about user agents that the two libraries of {@link ./user-agent.ts} lack: programs that
 * request a link before a person opens it, platforms that the parser mistakes for others, and apps
 * whose names resemble a bot's.
 */

type Platform = {
  /** The name of the system; undefined to keep the parser's. */
  os: string | undefined;
  device: "desktop" | "mobile" | "other" | undefined;
};

/**
 * A program that requests a link before the person's browser does: its pattern, and the stored
 * reason.
 */
const PREFETCHERS: readonly (readonly [RegExp, string])[] = [
  // Office resolves a link itself when it is clicked in a document, and then opens it in the
  // browser.
  // https://learn.microsoft.com/en-us/office/troubleshoot/office-suite-issues/click-hyperlink-to-sso-website
  [/\bms-office\b|\bMSOffice[ /]\d|^Microsoft Office\b/i, "office"],
  [/^(?:Mozilla\/4\.0 \(compatible; )?Microsoft (?:Outlook|Word|Excel|PowerPoint)\b/i, "office"],
  [/^(?:Word|Excel|PowerPoint|Outlook|OneNote)\/[\d.]+ \(Mac OS/i, "office"],
  [/^(?:LibreOffice|OpenOffice|Apache OpenOffice)\b/i, "office"],
  // The network drive of Windows, which Explorer and Office try for a link that may be a folder.
  [/^Microsoft-WebDAV-MiniRedir\/|^Microsoft Data Access Internet Publishing/i, "webdav"],
  // Safari's requests outside a page, for previews, icons and the reading list. Its pages are
  // `Mozilla/5.0 …`.
  [/^(?:Mobile)?Safari\/[\d.]+ CFNetwork\/|^com\.apple\.(?:WebKit|Safari)\b/i, "safari preview"],
];

/** In order: the first pattern that matches decides. */
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
  // UC Browser shortens the name of Android.
  [/\bUCWEB\/.*\bAdr \d/, { os: "Android", device: "mobile" }],
];

/** Bots that the list of bots lacks. Mastodon's servers fetch a preview of every link in a post. */
const MORE_BOTS = /\(Mastodon\/|\bGTmetrix\b|\bYLT Chrome\/|\bMiniature\.io\/|\bTSM-turingos\b/;

/**
 * Names of apps, stores and toolbars that contain the name of a bot, and the model of an Android
 * device, which is any word. A bot that poses as a phone says what it is elsewhere.
 */
const HARMLESS_NAMES =
  /\bcom\.google\.[\w.]+|\bGooglePlay\w*|\bGoogle ?(?:TV|Earth|Podcasts)\b|\bGoogleH\w*|\bSogou(?:Search|MSE|MobileBrowser)\b|\bAppleNews\b|\bQQDownload\b|\bchromeframe\b|\bCatcher[\d.]*|\bCE-HTML\b|(?<=\bAndroid [\d.]{1,9}; )[^;()]*/gi;

/**
 * Returns the reason to count a request as a prefetch, for a program that requests links before a
 * person opens them.
 */
export const findPrefetcher = (userAgent: string): string | undefined =>
  PREFETCHERS.find(([pattern]) => pattern.test(userAgent))?.[1];

/** Returns the system and device of a user agent that the parser mistakes for another one. */
export const findPlatform = (userAgent: string): Platform | undefined =>
  PLATFORMS.find(([pattern]) => pattern.test(userAgent))?.[1];

/** Returns the part that identifies a bot which the list of bots lacks. */
export const findBot = (userAgent: string): string | undefined =>
  MORE_BOTS.exec(userAgent)?.[0].replaceAll(/[(/]/g, "").toLowerCase();

/** Removes names that only resemble a bot's. */
export const withoutHarmlessNames = (userAgent: string): string =>
  userAgent.replace(HARMLESS_NAMES, "");
