/** The sites that a link leads to. */
import type { LinkRow } from "./model.ts";

/**
 * What decides which site each visitor gets to: hosts, and where there are several also who gets to which. Of two states of
 * a link it is deeply equal if nobody gets to another site.
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
