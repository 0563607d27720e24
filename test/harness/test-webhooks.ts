/** Webhooks on a PostgreSQL of a test: owners, what happens to their links, and who delivers it. */
import { EventPositions } from "../../api/events/service.ts";
import { OPERATOR } from "../../api/http/principal.ts";
import type { CreateWebhookBody } from "../../api/webhooks/model.ts";
import { WebhookService } from "../../api/webhooks/service.ts";
import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { ReceiverRules } from "../../shared/webhooks.ts";
import { Transport } from "../../worker/webhooks/attempt.ts";
import { Deliverer } from "../../worker/webhooks/deliverer.ts";
import type { LeasedWebhook, Pending } from "../../worker/webhooks/leases.ts";
import { startPostgres, type TestPostgres } from "./postgres.ts";
import { workerContext } from "./worker-context.ts";

/** What secrets are derived from. */
const OWN_SECRET = "what secrets are derived from in this test";

const RULES = new ReceiverRules({
  WEBHOOK_NETWORKS_ALLOWED: ["127.0.0.0/8"],
  WEBHOOK_PORTS_ALLOWED: ["*"],
});

type Owner = { accountId: Uuid; mode: "live"; actor: typeof OPERATOR };

type Fields = Partial<Pick<CreateWebhookBody, "events" | "link_ids" | "format">>;

export class TestWebhooks {
  readonly postgres: TestPostgres;
  readonly service: WebhookService;

  static async start(): Promise<TestWebhooks> {
    return new TestWebhooks(await startPostgres());
  }

  private constructor(postgres: TestPostgres) {
    const { sql } = postgres;
    this.postgres = postgres;
    this.service = new WebhookService(sql, new EventPositions(sql), RULES, OWN_SECRET);
  }

  async addOwner(): Promise<Owner> {
    return { accountId: await this.postgres.addAccount(), mode: "live", actor: OPERATOR };
  }

  create(owner: Owner, url: string, fields: Fields = {}) {
    return this.service.create(owner, newUuid(), { url, events: ["*"], ...fields });
  }

  /** Records events about a link each; returns their public ids. */
  async record(owner: Owner, linkIds: readonly Uuid[], type = "link.updated"): Promise<string[]> {
    const { sql } = this.postgres;
    const ids: string[] = [];
    for (const linkId of linkIds) {
      const id = newUuid();
      ids.push(encodeId("event", id));
      await sql`
        insert into events (id, account_id, mode, type, object_id, link_id, data, actor)
        values (${id}, ${owner.accountId}, 'live', ${type}, ${linkId}, ${linkId},
                ${sql.json({ link: { id: encodeId("link", linkId) } })}, '{"type":"system"}')`;
    }
    return ids;
  }

  async deliveriesOf(owner: Owner, id: Uuid) {
    const page = { limit: 100, page: 1 };
    return (await this.service.listDeliveries(owner, id, undefined, page)).rows;
  }

  startWorker(): TestDeliverer {
    return TestWebhooks.deliver(this.postgres.sql);
  }

  /** Delivers what is due, in this process: also in one that only knows the database. */
  static deliver(sql: TestPostgres["sql"]): TestDeliverer {
    const transport = new Transport(OWN_SECRET, RULES, () => Promise.reject(new Error("not used")));
    return new TestDeliverer(workerContext({ sql }), transport, ["sho.rt"]);
  }

  /** Nothing is left to deliver that another test has added. */
  async pauseAll(): Promise<void> {
    await this.postgres.sql`update webhooks set status = 'paused'`;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.postgres[Symbol.asyncDispose]();
  }
}

class TestDeliverer extends Deliverer {
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/** Ids of links of which nothing else is known. */
export const newLinks = (count: number): Uuid[] => Array.from({ length: count }, () => newUuid());

/** A webhook as a worker has leased it. */
export const leasedWebhook = (more: Partial<LeasedWebhook> = {}): LeasedWebhook => ({
  id: newUuid(),
  account_id: newUuid(),
  mode: "live",
  url: "https://hooks.example.com/",
  format: "standard",
  events: ["*"],
  link_ids: null,
  tags: null,
  domains: null,
  salt: new Uint8Array(16),
  old_salt: null,
  failing_seconds: null,
  is_slow: false,
  is_wanted: false,
  plan: "free",
  ...more,
});

/** A delivery that is due, and waits for no other. */
export const pendingDelivery = (more: Partial<Pending> = {}): Pending => ({
  id: newUuid(),
  eventId: newUuid(),
  position: 1,
  orderKey: null,
  linkIds: null,
  attempts: 0,
  dueAt: 0,
  ...more,
});
