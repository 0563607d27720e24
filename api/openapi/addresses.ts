/**
 * The addresses of the installation in the OpenAPI document. Its texts and examples name placeholders, which an installation
 * replaces: nobody may be told to send a key to another site.
 */

export type Addresses = {
  /** The origin of the API; undefined when it is not configured. */
  apiUrl: string | undefined;
  /** The origin of short links. */
  shortUrl: string;
};

/** What stands for the addresses in texts and examples: a domain that nobody can have (RFC 2606). */
export const PLACEHOLDERS = {
  apiUrl: "https://api.example.com",
  shortUrl: "https://short.example.com",
} as const;

const SHORT_HOST = new URL(PLACEHOLDERS.shortUrl).host;

/** For an installation that does not know its own address: a request says who sent it, not where the API is. */
const UNKNOWN_API_URL = "$API_URL";
const UNKNOWN_API_NOTE =
  "`$API_URL` is the address of this site: what your browser shows before `/docs`.\n\n```sh";

/** Replaces the placeholder in the guide. Its commands work as they are, or once the variable is set. */
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
