/** A short link: an alias on a domain. All processes name it in the same way. */

export type ShortLink = {
  /** `DEFAULT_DOMAIN` or a custom domain's host in lower case. */
  domain: string;
  alias: string;
};

/**
 * The key of a short link: its domain and the path of its short URL. The path begins with a slash,
 * so keys are unambiguous.
 */
export const keyOf = ({ domain, alias }: ShortLink): string => `${domain}/${alias}`;

/** The reverse of {@link keyOf}: a domain has no slash. */
export function shortLinkOfKey(key: string): ShortLink {
  const slash = key.indexOf("/");
  return { domain: key.slice(0, slash), alias: key.slice(slash + 1) };
}
