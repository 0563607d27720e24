/**
 * The content of a link's about page (`/alias+`): the destination, for people who want to know it
 * before they follow the link.
 */
import { DAY_MS } from "../../shared/durations.ts";
import type { Catalogue } from "../../shared/languages/catalogues.ts";
import type { Text, Texts } from "../../shared/languages/messages.ts";
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
