/** How the values of a breakdown are displayed. */
import { readableHost } from "../contracts/host-names.ts";
import { languageName } from "../contracts/languages.ts";
import { countryName } from "./format.ts";
import type { StatisticsLanguage, StatisticsText } from "./language.ts";

type Names = Readonly<Record<string, StatisticsText>>;

/** The names of continents, as texts. */
export const CONTINENTS = {
  AF: "africa",
  AN: "antarctica",
  AS: "asia",
  EU: "europe",
  NA: "northAmerica",
  OC: "oceania",
  SA: "southAmerica",
} as const satisfies Names;

/** The names of other values, as texts, by dimension or filter. */
const NAMES: Readonly<Record<string, Names>> = {
  continent: CONTINENTS,
  class: { human: "people", bot: "botClass", prefetch: "prefetches" },
  device: { mobile: "mobile", desktop: "desktop", tablet: "tablet", other: "other" },
  referrer: { direct: "direct" },
  trigger: { link: "link", qr: "qr" },
  imported: { no: "visitedHere", yes: "imported" },
};

/**
 * Names of the hosts and apps by which platforms lead to links. Android's browsers and apps
 * tell an app by the name of its package.
 */
const PLATFORMS: Readonly<Record<string, string>> = {
  "t.co": "X",
  "lnkd.in": "LinkedIn",
  "youtu.be": "YouTube",
  "t.me": "Telegram",
  "com.android.chrome": "Chrome",
  "com.discord": "Discord",
  "com.facebook.katana": "Facebook",
  "com.facebook.orca": "Messenger",
  "com.google.android.apps.dynamite": "Google Chat",
  "com.google.android.apps.messaging": "Google Messages",
  "com.google.android.gm": "Gmail",
  "com.google.android.googlequicksearchbox": "Google",
  "com.google.android.youtube": "YouTube",
  "com.instagram.android": "Instagram",
  "com.linkedin.android": "LinkedIn",
  "com.microsoft.office.outlook": "Outlook",
  "com.microsoft.teams": "Teams",
  "com.pinterest": "Pinterest",
  "com.reddit.frontpage": "Reddit",
  "com.slack": "Slack",
  "com.twitter.android": "X",
  "com.viber.voip": "Viber",
  "com.whatsapp": "WhatsApp",
  "org.telegram.messenger": "Telegram",
};

/** The API's value where the user agent or the address tells nothing. */
const UNKNOWN = "Unknown";
/** Dimensions whose values no visitor chooses. */
const DERIVED: ReadonlySet<string> = new Set(["browser", "os", "region", "city"]);

const HOSTS: ReadonlySet<string> = new Set(["referrer", "host", "domain"]);

/** Returns the displayed text of a value; `name` is that of its dimension or filter. */
export function describeValue(
  name: string,
  value: string,
  { tag, translate }: StatisticsLanguage,
): string {
  const named = NAMES[name];
  // A visitor sends the value: it may be the name of a method of every object.
  const text = named !== undefined && Object.hasOwn(named, value) ? named[value] : undefined;
  if (text !== undefined) return translate(text);
  if (name === "class") return value;
  if (name === "referrer" && Object.hasOwn(PLATFORMS, value)) return PLATFORMS[value] ?? value;
  if (value === UNKNOWN && DERIVED.has(name)) return translate("unknown");
  if (value === "") {
    return translate(name.startsWith("utm_") || name === "referrer_path" ? "none" : "unknown");
  }
  if (name === "country") return value === "ZZ" ? translate("unknown") : countryName(value, tag);
  if (name === "device") return value.charAt(0).toUpperCase() + value.slice(1);
  if (name === "language") return languageName(value, tag);
  return HOSTS.has(name) ? readableHost(value) : value;
}

/**
 * The values of a row by column; those of regions and cities include the enclosing country and
 * region.
 */
export type Values = Readonly<Record<string, string>>;

/** The enclosing region and country of a region or city. */
export function describePlace(values: Values, language: StatisticsLanguage): string {
  const { country, region, city } = values;
  if (country === undefined || (region === undefined && city === undefined)) return "";
  const around = city === undefined || region === UNKNOWN ? "" : (region ?? "");
  return [around, describeValue("country", country, language)].filter(Boolean).join(", ");
}
