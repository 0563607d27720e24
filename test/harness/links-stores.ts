/** The stores of the links log of a test: PostgreSQL, with an account, and NATS. */
import type { JetStreamManager, NatsConnection } from "nats";

import type { Writer } from "../../api/http/principal.ts";
import type { LinkService } from "../../api/links/service.ts";
import type { Sql } from "../../api/postgres.ts";
import type { Uuid } from "../../shared/ids.ts";
import { startNats, type TestNats } from "./nats.ts";
import { startPostgres, type TestPostgres } from "./postgres.ts";

export class LinksStores implements AsyncDisposable {
  readonly sql: Sql;
  readonly links: LinkService;
  readonly nats: TestNats;
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
  readonly owner: Writer;
  readonly #postgres: TestPostgres;

  static async start(): Promise<LinksStores> {
    const [postgres, nats] = await Promise.all([startPostgres(), startNats()]);
    const connection = await nats.connect();
    const manager = await connection.jetstreamManager();
    const owner = await postgres.addWriter();
    return new LinksStores(postgres, nats, { connection, manager, owner });
  }

  private constructor(
    postgres: TestPostgres,
    nats: TestNats,
    parts: { connection: NatsConnection; manager: JetStreamManager; owner: Writer },
  ) {
    this.#postgres = postgres;
    this.sql = postgres.sql;
    this.links = postgres.links;
    this.nats = nats;
    this.connection = parts.connection;
    this.manager = parts.manager;
    this.owner = parts.owner;
  }

  get databaseUrl(): string {
    return this.#postgres.url;
  }

  /**
   * Adds links as a process of an earlier version left them: with low versions, and nothing in the
   * outbox.
   */
  async addLinks(count: number, name = "link", domain: Uuid | null = null): Promise<void> {
    const { accountId } = this.owner;
    await this.sql`
      with added as (
        insert into links (id, account_id, mode, domain_id, alias, original_url, target_url, title, folded, version, created_at, updated_at)
        select gen_random_uuid(), ${accountId}, 'live', ${domain}, ${name} || '-' || i, url, url, 'A title', ${domain !== null || null}, i, now(), now()
          from generate_series(1, ${count}::integer) i, lateral (select 'https://example.com/' || i as url) urls
        returning id)
      insert into link_counters (link_id, account_id, mode) select id, ${accountId}, 'live' from added`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.connection.close();
    await Promise.all([this.#postgres[Symbol.asyncDispose](), this.nats[Symbol.asyncDispose]()]);
  }
}
