/**
 * The installation's addresses in the OpenAPI document. Its texts and examples contain
 * placeholders, which an installation replaces, so that no text tells a client to send a key to
 * another site.
 */

export type Addresses = {
  /** The origin of the API; undefined when it is not configured. */
  apiUrl: string | undefined;
  /** The origin of short links. */
  shortUrl: string;
};

/**
 * Placeholders for the addresses in texts and examples: a domain that nobody can own (RFC 2606).
 */
export const PLACEHOLDERS = {
  apiUrl: "https://api.example.com",
  shortUrl: "https://short.example.com",
} as const;

const SHORT_HOST = new URL(PLACEHOLDERS.shortUrl).host;

/**
 * For an installation without a configured API URL: the Host header of a request is not
 * trustworthy.
 */
const UNKNOWN_API_URL = "$API_URL";
const UNKNOWN_API_NOTE =
  "`$API_URL` is the address of this site: what your browser shows before `/docs`.\n\n```sh";

/**
 * Replaces the placeholder in the guide. Its commands work unchanged, or after the variable is set.
 */
export const addressGuide = (guide: string, { apiUrl }: Addresses): string =>
  apiUrl === undefined
    ? guide.replace("```sh", UNKNOWN_API_NOTE).replaceAll(PLACEHOLDERS.apiUrl, UNKNOWN_API_URL)
    : guide;

/** Replaces the placeholders in all texts of a document. */
export function addressDocument<Document>(document: Document, addresses: Addresses): Document {
  const { apiUrl = PLACEHOLDERS.apiUrl, shortUrl } = addresses;
  const replace = (text: string): string =>
    text
      .replaceAll(PLACEHOLDERS.apiUrl, apiUrl)
      .replaceAll(PLACEHOLDERS.shortUrl, shortUrl)
      .replaceAll(SHORT_HOST, new URL(shortUrl).host);
  return JSON.parse(JSON.stringify(document), (_, value: unknown) =>
    typeof value === "string" ? replace(value) : value,
  );
}
