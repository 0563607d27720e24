/** Destinations as people type and copy them. */
import { trimInvisible } from "../../../shared/contracts/text.ts";
import { parseWebUrl } from "../../../shared/contracts/web-url.ts";

/**
 * The start of a text that could be a host: labels with dots between them, before a port, path,
 * query or fragment.
 */
const HOST =
  /^(?<labels>[\p{L}\p{N}_-]{1,63}(?:\.[\p{L}\p{N}_-]{1,63}){1,16})(?::\d{1,5})?(?:[/?#]|$)/u;

/** The last label of a name, which is not a number: browsers parse `1.5` as an address. */
const TOP_LEVEL = /^\p{L}[\p{L}\p{N}-]+$/u;

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;

/**
 * Returns a text without what nobody sees at its ends, with `https://` before a host without a scheme: `example.com/x` is
 * `https://example.com/x`.
 */
export function completeUrl(text: string): string {
  const url = trimInvisible(text);
  const rest = url.startsWith("//") ? url.slice(2) : url;
  const labels = HOST.exec(rest)?.groups?.["labels"] ?? "";
  const isHost = TOP_LEVEL.test(labels.split(".").at(-1) ?? "") || IPV4.test(labels);
  return isHost ? `https://${rest}` : url;
}

/** Whether a text is an http or https URL that can be a destination. */
export const isWebUrl = (text: string): boolean => "url" in parseWebUrl(text);

/**
 * Returns the URL in a clipboard for a new link. Accepts only URLs with a scheme: other text may be
 * anything, such as a password. Ignores short URLs on `hosts`, which people have usually just
 * copied.
 */
export function readCopiedUrl(text: string, hosts: readonly string[]): string | undefined {
  const parsed = parseWebUrl(text);
  const isUrl = "url" in parsed && /^https?:\/\//i.test(parsed.original);
  return isUrl && !hosts.includes(parsed.url.host) ? parsed.original : undefined;
}
