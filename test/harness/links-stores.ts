/** The stores of the links log of a test: PostgreSQL, with an account, and NATS. */
import type { Uuid } from "../../shared/ids.ts";
import { startNats } from "./nats.ts";
import { startPostgres } from "./postgres.ts";

/** Starts PostgreSQL, with an account, and NATS. */
export async function startLinksStores() {
  const [postgres, nats] = await Promise.all([startPostgres(), startNats()]);
  const connection = await nats.connect();
  const owner = await postgres.addWriter();
  return {
    ...postgres,
    nats,
    connection,
    manager: await connection.jetstreamManager(),
    owner,
    /**
     * Adds links as a process of an earlier version left them: with low versions, and nothing in
     * the outbox.
     */
    async addLinks(count: number, name = "link", domain: Uuid | null = null): Promise<void> {
      await postgres.sql`
        with added as (
          insert into links (id, account_id, mode, domain_id, alias, original_url, target_url, title, folded, version, created_at, updated_at)
          select gen_random_uuid(), ${owner.accountId}, 'live', ${domain}, ${name} || '-' || i, url, url, 'A title', ${domain !== null || null}, i, now(), now()
            from generate_series(1, ${count}::integer) i, lateral (select 'https://example.com/' || i as url) urls
          returning id)
        insert into link_counters (link_id, account_id, mode) select id, ${owner.accountId}, 'live' from added`;
    },
    async [Symbol.asyncDispose]() {
      await connection.close();
      await Promise.all([postgres[Symbol.asyncDispose](), nats[Symbol.asyncDispose]()]);
    },
  };
}
