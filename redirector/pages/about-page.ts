/**
 * Pages about a link in place of its redirect: for people who want to know the destination before
 * they follow the link (`/alias+`), and for link-preview agents.
 */
import type { Preview } from "../../shared/contracts/redirect-settings.ts";
import { DAY_MS } from "../../shared/durations.ts";
import type { Catalogue } from "../../shared/languages/catalogues.ts";
import type { Text, Texts } from "../../shared/languages/messages.ts";
import type { PageResponse } from "../http/response.ts";
import { escapeText, mapValues } from "./template.ts";

/**
 * Maximum displayed characters of a destination: those of a destination without its UTM parameters.
 */
const SHOWN_LENGTH_MAX = 8_192;

type AboutTexts = Texts<Catalogue["redirector"]["about"]>;

/** The displayed data of a link; instants are in Unix milliseconds, and absent when unknown. */
export type AboutLink = {
  destination: string;
  /** Whether other visitors may get another destination. */
  varies: boolean;
  title?: string | undefined;
  createdAt?: number | undefined;
  /** When the link last changed so that some visitors reached another site. */
  hostChangedAt?: number | undefined;
  /** The path of the short URL. */
  path: string;
  /** Where a visitor reports the link; undefined where nobody can. */
  reportUrl?: string | undefined;
};

/** The content of about pages in one language. */
export class AboutContent {
  readonly #labels: Record<keyof AboutTexts, string>;
  readonly #dates: Intl.DateTimeFormat;
  readonly #spans: Intl.RelativeTimeFormat;

  /** `code` is that of the language. */
  constructor(code: string, texts: AboutTexts) {
    this.#labels = mapValues<keyof AboutTexts, Text, string>(texts, escapeText);
    this.#dates = new Intl.DateTimeFormat(code, { dateStyle: "long", timeZone: "UTC" });
    this.#spans = new Intl.RelativeTimeFormat(code);
  }

  /** Renders the content about a link, at an instant `now`. */
  render(link: AboutLink, now: number): string {
    const { destination, varies, title, createdAt, hostChangedAt, path, reportUrl } = link;
    const labels = this.#labels;
    const rows = [
      row(labels.site, `<strong>${Bun.escapeHTML(URL.parse(destination)?.host ?? "")}</strong>`),
      row(labels.address, `<code>${Bun.escapeHTML(shorten(destination))}</code>`),
    ];
    if (title !== undefined) rows.push(row(labels.name, Bun.escapeHTML(title)));
    if (createdAt !== undefined) rows.push(row(labels.created, this.#formatDate(createdAt, now)));
    if (hostChangedAt !== undefined) {
      const label = varies ? labels.sites_changed : labels.same_site_since;
      rows.push(row(label, this.#formatDate(hostChangedAt, now)));
    }
    return `<p>${labels.leads_to}</p>
<dl>
${rows.join("\n")}
</dl>
${varies ? `<p>${labels.varies}</p>\n` : ""}<p><a href="${Bun.escapeHTML(path)}" rel="nofollow noreferrer">${labels.follow}</a></p>${reportUrl === undefined ? "" : reportLink(reportUrl, labels.report)}`;
  }

  /** A date (UTC), and how long ago it was. */
  #formatDate(instant: number, now: number): string {
    const days = Math.max(0, Math.floor((now - instant) / DAY_MS));
    const ago = days === 0 ? this.#labels.today : Bun.escapeHTML(this.#spans.format(-days, "day"));
    const day = new Date(instant).toISOString().slice(0, 10);
    return `<time datetime="${day}">${Bun.escapeHTML(this.#dates.format(instant))}</time> (${ago})`;
  }
}

const reportLink = (url: string, label: string): string =>
  `\n<p><a href="${Bun.escapeHTML(url)}" rel="nofollow">${label}</a></p>`;

const row = (label: string, value: string): string => `<dt>${label}</dt>\n<dd>${value}</dd>`;

const shorten = (text: string): string =>
  text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text;

/**
 * The creation time of a link, from its id (RFC 9562 §5.7); undefined for an id of another version.
 */
export const creationTimeOf = (linkId: string): number | undefined =>
  /^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(linkId)
    ? Number.parseInt(linkId.slice(0, 8) + linkId.slice(9, 13), 16)
    : undefined;

// The page for link-preview agents: a card in Open Graph (https://ogp.me), without the destination.

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "private, no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
};

/** Renders a link's card; `shortUrl` is the link's own. */
export function previewPage(
  { title, description, image }: Preview,
  shortUrl: string,
): PageResponse {
  const tags = [
    meta("property", "og:type", "website"),
    meta("property", "og:title", title),
    meta("property", "og:url", shortUrl),
    // X reads the rest from Open Graph.
    meta("name", "twitter:card", image === undefined ? "summary" : "summary_large_image"),
    ...(description === undefined
      ? []
      : [
          meta("name", "description", description),
          meta("property", "og:description", description),
        ]),
    ...(image === undefined ? [] : [meta("property", "og:image", image)]),
  ];
  const name = Bun.escapeHTML(title);
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${name}</title>
${tags.join("\n")}
</head>
<body>
<h1>${name}</h1>
<p>${Bun.escapeHTML(description ?? "")}</p>
</body>
</html>
`;
  return { status: 200, headers: HEADERS, body: Buffer.from(html) };
}

const meta = (attribute: "name" | "property", name: string, content: string): string =>
  `<meta ${attribute}="${name}" content="${Bun.escapeHTML(content)}">`;
