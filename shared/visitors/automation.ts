/**
 * Judges whether a request is a person's visit, from its user agent and its headers. Redirectors
 * (limits that count people) and the worker (classes of clicks) use this one rule.
 *
 * A bot says that it is one: by a name, a URL or an address of its own. A browser, a web view of an
 * app and a person's own program are people's, whatever else their user agents contain.
 */
import { isbot } from "isbot";

import { truncateText } from "../bytes.ts";

export type Verdict =
  { class: "human"; reason: "" } | { class: "bot" | "prefetch"; reason: string };

/** Signs of a program in the headers of a request, beside its user agent. */
type RequestMarks = {
  /** It comes ahead of a person: see {@link announcesFetch}. */
  prefetch: boolean;
  /**
   * It is a load within a page, such as an image, a script or a frame: its `Sec-Fetch-Dest` is not
   * `document`. The mode says less: Node's fetch sends `cors` for a person's own program.
   */
  embedded: boolean;
};

const HUMAN: Verdict = { class: "human", reason: "" };
const bot = (reason: string): Verdict => ({ class: "bot", reason });
const EMBEDDED = bot("embedded");
const ANNOUNCED: Verdict = { class: "prefetch", reason: "purpose header" };

/** The class of a request, from its user agent's verdict and its headers. */
export function judgeRequest(agent: Verdict, { prefetch, embedded }: RequestMarks): Verdict {
  if (agent.class === "bot") return agent;
  if (prefetch) return ANNOUNCED;
  return embedded ? EMBEDDED : agent;
}

/** The class of requests with a user agent, as far as that tells it. */
export function judgeAgent(userAgent: string): Verdict {
  if (userAgent.trim() === "") return bot("empty");
  const prefetcher = findPrefetcher(userAgent);
  if (prefetcher !== undefined) return { class: "prefetch", reason: prefetcher };
  const parts = readParts(userAgent);
  const name = findBotName(parts) ?? findPreviewAgent(userAgent);
  if (name !== undefined) return bot(toReason(name));
  if (isOwnProgram(userAgent)) return HUMAN;
  const isApp = isPhoneApp(userAgent);
  const program = findCompatible(parts) ?? (isApp ? undefined : findContact(parts));
  if (program !== undefined) return bot(toReason(program));
  if (isApp || isBrowser(userAgent, parts) || !isbot(userAgent)) return HUMAN;
  return bot(toReason(parts.products.find((product) => !MOZILLA.test(product)) ?? ""));
}

/** Words by which clients announce a fetch ahead of a person; Chrome's Instant sent `: preview`. */
const AHEAD = /\b(?:prefetch|prerender|preview|preload|instant|microsummary|livebookmarks)\b/i;

/**
 * Whether the value of `Sec-Purpose`, `X-Sec-Purpose`, `Purpose`, `X-Purpose` or `X-Moz` announces
 * a fetch ahead of a person.
 */
export const announcesFetch = (value: string): boolean => AHEAD.test(value);

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
  [/^(?:Mozilla\/5\.0 \(Macintosh; Intel Mac OS X\) )?(?:Word|Excel|PowerPoint)\/\d/i, "office"],
  [/^(?:Outlook|OneNote)\/[\d.]+ \(Mac OS/i, "office"],
  [/^(?:LibreOffice|OpenOffice|Apache OpenOffice)\b/i, "office"],
  // The network drive of Windows, which Explorer and Office try for a link that may be a folder.
  [/^Microsoft-WebDAV-MiniRedir\/|^Microsoft Data Access Internet Publishing/i, "webdav"],
  // Safari's requests outside a page, for previews, icons and the reading list. Its pages are
  // `Mozilla/5.0 …`.
  [/^(?:Mobile)?Safari\/[\d.]+ CFNetwork\/|^com\.apple\.(?:WebKit|Safari)\b/i, "safari preview"],
];

const findPrefetcher = (userAgent: string): string | undefined =>
  PREFETCHERS.find(([pattern]) => pattern.test(userAgent))?.[1];

/** Whether a user agent begins with an HTTP library or a command line. */
const isOwnProgram = (userAgent: string): boolean =>
  OWN_PROGRAMS.has(/^[^/ ]*/.exec(userAgent)?.[0].toLowerCase() ?? "");

/** A user agent's parts; a bot writes its name, its URL or its address as one of them. */
type AgentParts = {
  /** Tokens outside comments: `Chrome/120.0`. */
  products: string[];
  /** The first comment's fields, which describe the device, without the device's model. */
  platform: string[];
  /** The fields of further comments. */
  notes: string[];
};

/** Splits a user agent as RFC 9110 §10.1.5 has it; apps also write comments in brackets. */
function readParts(userAgent: string): AgentParts {
  const parts: AgentParts = { products: [], platform: [], notes: [] };
  let [depth, comments, start] = [0, 0, 0];
  const end = (at: number): void => {
    const part = userAgent.slice(start, at).trim();
    start = at + 1;
    if (part === "") return;
    if (depth === 0) parts.products.push(part);
    else (comments === 1 ? parts.platform : parts.notes).push(part);
  };
  for (let at = 0; at < userAgent.length; at++) {
    const character = userAgent[at] ?? "";
    if (OPENING.has(character)) {
      end(at);
      if (depth++ === 0) comments++;
    } else if (CLOSING.has(character) && depth > 0) {
      end(at);
      depth--;
    } else if ((depth === 0 ? BETWEEN_PRODUCTS : BETWEEN_FIELDS).has(character)) end(at);
  }
  end(userAgent.length);
  parts.platform = withoutModel(parts.platform);
  return parts;
}

const OPENING: ReadonlySet<string> = new Set("([");
const CLOSING: ReadonlySet<string> = new Set(")]");
const BETWEEN_PRODUCTS: ReadonlySet<string> = new Set(" ;,");
const BETWEEN_FIELDS: ReadonlySet<string> = new Set(";,");

/** Fields between Android's version and the model of the device: `U`, `wv`, `de-de`. */
const BEFORE_MODEL = /^(?:u|wv|[a-z]{2}(?:[-_][a-z]{0,4})?)$/i;

/** Removes the model of an Android device, which is any word: the field after Android's version. */
function withoutModel(platform: string[]): string[] {
  const android = platform.findIndex((field) => /\bandroid\b|^adr\b/i.test(field));
  if (android < 0) return platform;
  const model = platform.findIndex((field, at) => at > android && !BEFORE_MODEL.test(field));
  return model < 0 ? platform : platform.toSpliced(model, 1);
}

/** A part's name, without its version. */
const nameOf = (part: string): string => {
  const slash = part.indexOf("/");
  return slash < 0 ? part : part.slice(0, slash);
};

/** Words that make a name a bot's; Cubot makes phones. */
const BOT_WORD =
  /(?:^|[^u]|[^c]u)bots?(?![a-z])|crawl|spider|slurp|headless|preview|scrap(?:e|y|ing)|fetcher|archiver|validator|screenshot|thumbnail|transcod|synthetic|monitor|(?:link|site).?check|proxychecker|contentscan|content-scan|lighthouse|favicon|feed ?finder|productfinder|pageanalyzer|classifier|nutch|turingos/im;

/** Google's programs, apart from its apps for people. */
const GOOGLE_NAME =
  /^\w+-google$|^google(?:-[a-z]|other|sites|docs|adsense|adwords|messages|hc$| favicon| search console| page speed| keyword| wireless transcoder)/im;

/** The part by whose name a bot identifies itself. */
function findBotName({ products, platform, notes }: AgentParts): string | undefined {
  const parts = [...products, ...notes, ...platform];
  const names = parts.map(nameOf);
  // All names at once: most user agents have none of a bot.
  return isBotName(names.join("\n")) ? parts[names.findIndex(isBotName)] : undefined;
}

const isBotName = (names: string): boolean =>
  BOT_WORD.test(names) ||
  GOOGLE_NAME.test(names) ||
  names
    .toLowerCase()
    .split(/\s/)
    .some((name) => BOT_NAMES.has(name));

/** A URL or an address of mail, as a program has it of its operator; or a host as a product. */
const CONTACT =
  /\+https?:|^via\b|\bcontact\b|^\+[\w-]+\.|^(?:mailto:|[\w.+-]{1,64}@[\w-]+\.[a-z])|^[\w-]+\.(?:com|net|org|io|co|ai)\/[a-z]/i;

/** A URL that stands alone. */
const URL_ALONE = /^\W*https?:|^www\./i;

/** Internet Explorer, in whose first comment sites and toolbars put their URLs. */
const EXPLORER = /^(?:msie|trident)\b/i;

/** The part in which the operator of a program says where to reach them. */
function findContact({ products, platform, notes }: AgentParts): string | undefined {
  const parts = [...products, ...notes, ...platform];
  return (
    parts.find((part) => CONTACT.test(part)) ??
    (platform.some((field) => EXPLORER.test(field))
      ? undefined
      : parts.find((part) => URL_ALONE.test(part)))
  );
}

/**
 * A name after `compatible`, as programs write theirs; browsers write it in the first comment only,
 * with their systems.
 */
function findCompatible({ platform, notes }: AgentParts): string | undefined {
  const fields = platform.some((field) => SYSTEM.test(field)) ? notes : [...platform, ...notes];
  const at = fields.findIndex((field) => /^compatible$/i.test(field));
  const name = at < 0 ? undefined : fields[at + 1];
  return name !== undefined && /^[a-z]/i.test(name) && !SYSTEM.test(nameOf(name))
    ? name
    : undefined;
}

/** Systems of people's devices, as browsers write them into the first comment. */
const SYSTEM =
  /windows|win(?:9|nt|32|64)|msie|macintosh|mac[ _]os|mac_powerpc|ip(?:hone|ad|od)|android|\badr\b|linux|x11|konqueror|cros|bsd|sunos|tizen|symb|series ?\d|blackberry|bb10|rim tablet|palm|playstation|nintendo|xbox|web ?[0o]s|\btv\b|smarttv|hbbtv|roku|kindle|nook|os\/2|amiga|haiku|beos|syllable|risc os|midp|j2me|brew|mobile|bada|sailfish|meego|maemo|ubuntu|fedora|nokia|samsung|sonyericsson|harmony/i;

/** Whether a user agent is that of a browser, or of a web view within an app. */
const isBrowser = (userAgent: string, { platform, products }: AgentParts): boolean =>
  /^opera\/\d/i.test(userAgent) ||
  (MOZILLA.test(userAgent) && [...platform, ...products].some((part) => SYSTEM.test(part)));

/** Names that browsers give themselves. */
const MOZILLA = /\b(?:mozilla|opera)\/\d/i;

/** Apps, and systems of phones, tablets and Macs; before those, phones began with their makers. */
const PHONE =
  /\bandroid|_android|\bdalvik\/|\bios\b|ip(?:hone|ad|od)|\biph\d|\bcfnetwork\/|\bdarwin\/|\bwatchos|\btvos|\bmacos\b|\bmac os x|\bfba[nv]\/|\bmidp\b|\bcldc\b|\bwap[ -]?browser|\bup\.browser|symbian|blackberry|\btizen|\bwindows phone|^(?:samsung|nokia|lg|mot|motorola|sonyericsson|sie|htc|huawei|zte|alcatel|sanyo|sagem|philips|panasonic|pantech|lenovo|karbonn|micromax|amoi|bird)[-\w /.]*\d/i;

/** Whether a user agent is that of an app, or of a phone's browser that calls itself no Mozilla. */
const isPhoneApp = (userAgent: string): boolean =>
  !MOZILLA.test(userAgent) && PHONE.test(userAgent);

const REASON_LENGTH_MAX = 64;

/** The reason that is stored: a bot's name without its version, or the host of its URL. */
function toReason(part: string): string {
  const url = part.indexOf("://");
  const name = nameOf(url < 0 ? part : part.slice(url + 3)).trim();
  return truncateText(name.toLowerCase() || "bot", REASON_LENGTH_MAX);
}

/** One name in each word of a text. */
const toNames = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/**
 * HTTP libraries, command lines, and browsers that call themselves no Mozilla: the first product of
 * their user agents. They are not crawlers: a script that follows a link counts as its owner.
 */
const OWN_PROGRAMS = toNames(`
  aiohttp alamofire apache-httpasyncclient apache-httpclient apachebench aria2 autocannon axios bun
  curl dart deno dillo elinks faraday go-http-client go-resty got guzzlehttp hey http-tiny http.rb httpie
  hyper insomnia java java-http-client k6 libwww-perl links lwp::simple lynx netsurf node node-fetch
  node-superagent oha okhttp php php-curl-class postmanruntime powershell python python-httpx
  python-requests python-urllib python-urllib3 reactornetty reqwest ruby superagent symfony undici
  ureq urllib3 vegeta w3m wget wget2 winhttp wrk
`);

/** Bots whose names have none of the words that bots' names have. */
const BOT_NAMES = toNames(`
  abuse.xmco.fr acunetix agent-novaact appinsights archivebox binglocalsearch casperjs catchpoint
  cloudflare-amphtml cloudflarediagnostics cloudflareobservatory collapsify convertify
  cookiehubscan cookiehubverify copperegg criticalcss.com cypress dareboost datanyze daum daumoa
  daumoa-image debugbear dejaclick devin dlc dmbrowser dmbrowser-bv evc-batch facebookcatalog
  facebookexternalhit feeder.co foregenix functionize gomezagent gtmetrix hardenize hotjar httrack
  hubspot ia_archiver inspector iplabel ips-agent khtml2png kimonolabs linktiger manus-user
  marketgoo meta-externalagent miniature.io mshots netnewswire neustar newsai newsnow nikto
  nitro-optimizer-agent openvas phantomjs pingdom pingdomtms playwright printfriendly.com ps_daily
  ptst pwabuilderhttpagent readable rigor rmsnapkit scope3 securityheaders selenium
  semantic-visions-discovery siege silktide sindup site24x7 siteimprove siteimprove.com sitesucker
  slimerjs sparkler splash statuscake taginspector testlocally thousandeyes tineye
  wappalyzer watchtowr webcapture webkit2png websnapr webthumb whatcms wkhtmltoimage wkhtmltopdf ylt
`);

// Agents that fetch a link to show a card of it, in a chat or a feed. An agent is listed if its
// operator documents, on the page in the comment, that it does only this; some have that page in
// their user agents. Crawlers of search engines are not listed: they must see a link's destination.

/**
 * Product names, never parts of a browser's user agent: the browser inside WhatsApp's app ends with
 * `WhatsApp/…`, with which the agent's begins.
 */
const PREVIEW_AGENTS: readonly RegExp[] = [
  // Facebook, Instagram, Messenger and Threads; agents of iMessage, LINE and KakaoTalk name it
  // beside their own. https://developers.facebook.com/docs/sharing/webmasters/web-crawlers
  /\bfacebookexternalhit\//,
  // Also Signal's.
  // https://developers.facebook.com/documentation/business-messaging/whatsapp/link-previews/
  /^WhatsApp\//,
  // X. https://developer.x.com/en/docs/x-for-websites/cards/guides/getting-started
  /\bTwitterbot\//,
  // http://www.linkedin.com
  /^LinkedInBot\//,
  // https://api.slack.com/robots; other programs of Slack's are called Slackbot alone.
  /^Slackbot-LinkExpanding\b/,
  // https://discordapp.com
  /\bDiscordbot\//,
  // https://telegram.org/blog/link-preview
  /^TelegramBot\b/,
  // Skype and Teams: skype-url-preview@microsoft.com, https://aka.ms/MicrosoftPreview
  /\bSkypeUriPreview\b/,
  /\bMicrosoftPreview\//,
  // http://www.reddit.com/feedback
  /\bredditbot\//,
  // https://developers.snap.com/robots
  /\bSnap URL Preview Service\b/,
  // support@bsky.app
  /\bBluesky Cardyb\//,
  // https://github.com/mastodon/mastodon/blob/main/app/services/fetch_link_card_service.rb
  /\bMastodon\//,
  // Matrix. https://github.com/matrix-org/synapse/pull/11985
  /^Synapse \(bot;/,
  // https://github.com/mattermost/mattermost/pull/17186
  /^Mattermost-Bot\//,
  // http://vk.com/dev/Share
  /\bvkShare\b/,
  // https://help.pinterest.com/en/business/article/pinterest-crawler
  /\bPinterestbot\/|^Pinterest\/[\d.]+ \(\+http/,
  // Google Messages; Google Chat asks as the fetcher of snippets.
  // https://developers.google.com/crawling/docs/crawlers-fetchers/google-user-triggered-fetchers
  /\bGoogleMessages\b/,
  /\bGoogle \(\+https:\/\/developers\.google\.com\/\+\/web\/snippet\//,
  // https://github.com/zulip/zulip/blob/main/zerver/lib/url_preview/preview.py
  /\bZulipURLPreview\//,
  // https://github.com/LemmyNet/lemmy/blob/main/crates/api_common/src/request.rs
  /^Lemmy\//,
  // Misskey. https://github.com/misskey-dev/summaly
  /^(?:SummalyBot|Misskey)\//i,
  // https://developers.viber.com
  /^ViberUrlDownloader\b/,
  // Notion, also with Iframely.
  /^NotionEmbedder\b|^Notion\/[\d.]+ \(https?:/,
  // Cards for many sites. https://iframely.com/docs/about, http://support.embed.ly/
  /\bIframely\//,
  /\bEmbedly\//,
];

/** Returns the name of a link-preview agent, as its user agent has it; undefined for others. */
function findPreviewAgent(userAgent: string): string | undefined {
  for (const pattern of PREVIEW_AGENTS) {
    const name = pattern.exec(userAgent)?.[0];
    if (name !== undefined) return name;
  }
  return undefined;
}

/** Whether a user agent is that of a link-preview agent. */
export const isPreviewAgent = (userAgent: string): boolean =>
  findPreviewAgent(userAgent) !== undefined;
