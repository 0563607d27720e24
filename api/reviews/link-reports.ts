/** Reports of links by their visitors, which put them into the queue of an operator. */
import { DEFAULT_DOMAIN } from "../../shared/contracts/link-record.ts";
import { withoutPort } from "../links/listing/filter.ts";
import { readShortUrl } from "../links/short-url.ts";
import { findLinkByName } from "../links/takedown.ts";
import type { Sql } from "../postgres.ts";
import { addReport } from "./sql.ts";

/** Most characters of what a visitor writes. */
export const REASON_LENGTH_MAX = 500;

export class LinkReports {
  readonly #sql: Sql;
  readonly #shortUrl: URL;
  readonly #ownHosts: ReadonlySet<string>;

  /** `ownHosts` are those of the default short domain. */
  constructor(sql: Sql, shortUrl: URL, ownHosts: ReadonlySet<string>) {
    this.#sql = sql;
    this.#shortUrl = shortUrl;
    this.#ownHosts = ownHosts;
  }

  /** Reports the link of a short URL, for a reason; false when there is none. */
  async report(url: string, reason: string): Promise<boolean> {
    const { domain, aliases } = readShortUrl(url) ?? { domain: "", aliases: [] };
    const host = withoutPort(domain, this.#shortUrl);
    const own = this.#ownHosts.has(host) ? DEFAULT_DOMAIN : host;
    for (const alias of aliases) {
      const id = await findLinkByName(this.#sql, { domain: own, alias });
      if (id !== undefined) return await addReport(this.#sql, id, reason);
    }
    return false;
  }
}
