/**
 * The content of a link's about page (`/alias+`): the destination, for people who want to know it
 * before they follow the link.
 */
import { DAY_MS } from "../../shared/durations.ts";

/**
 * Maximum displayed characters of a destination: those of a destination without its UTM parameters.
 */
const SHOWN_LENGTH_MAX = 8_192;

/** The displayed data of a link; instants are in Unix milliseconds, and absent when unknown. */
export type AboutLink = {
  /** The destination for this visitor. */
  destination: string;
  /** Whether other visitors may get another destination. */
  varies: boolean;
  title?: string | undefined;
  createdAt?: number | undefined;
  /** When the link last changed so that some visitors reached another site. */
  hostChangedAt?: number | undefined;
  /** The path of the short URL. */
  path: string;
};

/** Renders the content at an instant `now`. */
export function aboutContent(link: AboutLink, now: number): string {
  const { destination, varies, title, createdAt, hostChangedAt, path } = link;
  const facts = [
    ["Site", `<strong>${Bun.escapeHTML(URL.parse(destination)?.host ?? "")}</strong>`],
    ["Address", `<code>${Bun.escapeHTML(shorten(destination))}</code>`],
    ...(title === undefined ? [] : [["Title", Bun.escapeHTML(title)]]),
    ...(createdAt === undefined ? [] : [["Link created", dateOf(createdAt, now)]]),
    ...(hostChangedAt === undefined
      ? []
      : [[varies ? "Sites last changed" : "Leads to this site since", dateOf(hostChangedAt, now)]]),
  ];
  const rows = facts.map(([name = "", value = ""]) => `<dt>${name}</dt>\n<dd>${value}</dd>`);
  return `<p>This short link leads to:</p>
<dl>
${rows.join("\n")}
</dl>
${varies ? "<p>It may lead other visitors, or you at another time, to other addresses.</p>\n" : ""}<p><a href="${Bun.escapeHTML(path)}" rel="nofollow noreferrer">Follow the link</a></p>`;
}

const shorten = (text: string): string =>
  text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text;

/** A date (UTC), and how long ago it was. */
function dateOf(instant: number, now: number): string {
  const day = new Date(instant).toISOString().slice(0, 10);
  const days = Math.max(0, Math.floor((now - instant) / DAY_MS));
  const ago = days === 0 ? "less than a day ago" : days === 1 ? "1 day ago" : `${days} days ago`;
  return `<time datetime="${day}">${day}</time>, ${ago}`;
}

/**
 * The creation time of a link, from its id (RFC 9562 §5.7); undefined for an id of another version.
 */
export const creationTimeOf = (linkId: string): number | undefined =>
  /^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(linkId)
    ? Number.parseInt(linkId.slice(0, 8) + linkId.slice(9, 13), 16)
    : undefined;
