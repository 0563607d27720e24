/** Decides whether a link is taken down with its account, or with a host of its destinations. */
import type { TakedownList } from "./contracts/notices.ts";
import type { RedirectSettings } from "./contracts/redirect-settings.ts";
import { isWithin, normalizeHost } from "./hosts.ts";

/** The fields of a link that takedowns use. */
export type TakedownFields = {
  account_id: string;
  destination: string;
  extras?: RedirectSettings | undefined;
};

/** The accounts and hosts that are taken down. A host covers all links that have a URL on it. */
export class TakedownSet {
  readonly #accounts: ReadonlySet<string>;
  readonly #hosts: ReadonlySet<string>;

  constructor({ accounts, hosts }: TakedownList) {
    this.#accounts = new Set(accounts);
    this.#hosts = new Set(hosts);
  }

  covers({ account_id, destination, extras }: TakedownFields): boolean {
    if (this.#accounts.has(account_id)) return true;
    if (this.#hosts.size === 0) return false;
    const isTaken = (url: string): boolean => isWithin(this.#hosts, hostOf(url));
    return isTaken(destination) || (extras !== undefined && urlsOf(extras).some(isTaken));
  }
}

const urlsOf = ({ expired_url, rules = [], split }: RedirectSettings): string[] => [
  ...(expired_url === undefined ? [] : [expired_url]),
  ...("urls" in rules ? rules.urls() : rules.map(({ url }) => url)),
  ...(split?.arms ?? []).map(({ url }) => url),
];

/**
 * The host of a URL that the WHATWG parser has normalized before. Parsing it again takes ten times
 * as long, and a change of the takedowns reads the hosts of all links.
 */
function hostOf(url: string): string {
  const start = url.indexOf("://") + "://".length;
  const end = url.slice(start).search(/[/?#]/);
  const authority = end < 0 ? url.slice(start) : url.slice(start, start + end);
  return normalizeHost(authority.slice(authority.lastIndexOf("@") + 1));
}
