/** The sites that a link redirects to. */
import type { LinkRow } from "./model.ts";

/**
 * The values that determine the site each visitor reaches: the hosts and, if there are several,
 * which visitors reach which. The values of two states of a link are deeply equal if every visitor
 * reaches the same site.
 */
export function sitesOf({ target_url, extras }: Pick<LinkRow, "target_url" | "extras">) {
  const own = hostOf(target_url);
  const rules = (extras?.rules ?? []).map(({ url, conditions }) => ({
    host: hostOf(url),
    conditions,
  }));
  const arms = (extras?.split?.arms ?? []).map(({ url, weight }) => ({
    host: hostOf(url),
    weight,
  }));
  const isOne = [...rules, ...arms].every(({ host }) => host === own);
  return isOne ? { own } : { own, rules, arms, until: extras?.split?.until };
}

const hostOf = (url: string): string => new URL(url).host;
