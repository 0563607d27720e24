/** Reads short URLs as people copy them. */
import { invalidField } from "../http/errors.ts";

/** A link by its short URL. */
export type ShortUrl = { alias: string; domain: string };

/** Most characters of a short URL that is looked up. */
export const SHORT_URL_LENGTH_MAX = 2_048;

/**
 * Reads a short URL, with or without a scheme. Throws `invalid_request` for a text that cannot be
 * one.
 */
export function readShortUrl(text: string): ShortUrl {
  const trimmed = text.trim();
  const url = URL.parse(/^https?:\/\//i.test(trimmed) ? trimmed : `https://${trimmed}`);
  const alias = url?.pathname.slice(1) ?? "";
  if (url === null || alias === "" || alias.includes("/"))
    throw invalidField("short_url", "must be a short URL such as https://sho.rt/hello");
  return { alias, domain: url.host };
}
