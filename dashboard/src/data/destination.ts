/** Destinations as people copy them. */
import { parseWebUrl } from "../../../shared/contracts/web-url.ts";

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
