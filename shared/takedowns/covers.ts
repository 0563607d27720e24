/** Decides whether a link is taken down with its account, or with a host of its destinations. */
import type { TakedownList } from "../contracts/notices.ts";
import type { RedirectSettings } from "../contracts/redirect-settings.ts";
import { isWithin, normalizeHost } from "../hosts.ts";

/** The fields of a link that takedowns use. */
export type LinkFacts = {
  account_id: string;
  destination: string;
  extras?: RedirectSettings | undefined;
};

/** Returns whether one list of takedowns covers a link. */
export type Covers = (link: LinkFacts) => boolean;

/** Compiles a list. A host covers all links that have a URL on it. */
export function compileTakedowns({ accounts, hosts }: TakedownList): Covers {
  const accountIds = new Set(accounts);
  const hostNames = new Set(hosts);
  const isTaken = (url: string): boolean => isWithin(hostNames, hostOf(url));
  return ({ account_id, destination, extras }) => {
    if (accountIds.has(account_id)) return true;
    if (hostNames.size === 0) return false;
    return isTaken(destination) || (extras !== undefined && urlsOf(extras).some(isTaken));
  };
}

const urlsOf = ({ expired_url, rules = [], split }: RedirectSettings): string[] => [
  ...(expired_url === undefined ? [] : [expired_url]),
  ...("urls" in rules ? rules.urls() : rules.map(({ url }) => url)),
  ...(split?.arms ?? []).map(({ url }) => url),
];

/**
 * The host of a URL that the WHATWG parser has normalized. The parser takes ten times as long, for
 * each of all links.
 */
function hostOf(url: string): string {
  const start = url.indexOf("://") + "://".length;
  const end = url.slice(start).search(/[/?#]/);
  const authority = end < 0 ? url.slice(start) : url.slice(start, start + end);
  return normalizeHost(authority.slice(authority.lastIndexOf("@") + 1));
}
