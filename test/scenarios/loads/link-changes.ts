/**
 * People who change links, one after the other, and create others: each change is one event of the
 * ledger and reaches a webhook, and each leads to a higher number, so that an older target is seen.
 */
import * as z from "zod";

import { callOnce, linkSchema } from "../../harness/api.ts";
import { eventually } from "../../harness/eventually.ts";
import { readLedger, WebhookReceiver } from "../../harness/webhook-receiver.ts";
import type { Topology } from "../topologies/topology.ts";
import type { FollowedLink } from "./redirects.ts";

/** Quiet time between two changes. */
const PAUSE_MS = 200;

/** One of so many changes creates a link. */
const CREATIONS_EVERY = 5;

/** A store or the API may be away for as long as a fault takes. */
const REQUEST_TIMEOUT_MS = 60_000;

/** What is recorded and delivered of changes. */
const TYPES = ["link.created", "link.updated"];

const createdSchema = z.object({ id: z.string() });

/**
 * The longest times without an acknowledged change and without a published one, and by which a
 * target was outdated, in milliseconds.
 */
export type ChangeGaps = { writeGapMs: number; publishGapMs: number; stalenessMs: number };

const NO_GAPS: ChangeGaps = { writeGapMs: 0, publishGapMs: 0, stalenessMs: 0 };

type Changed = {
  alias: string;
  /** What was done to it since the beginning, in order. */
  events: string[];
  /** When each version of the destination was acknowledged as published. */
  publishedAt: Map<number, number>;
};

const destination = (version: number): string => `https://example.com/version/${version}`;

/** The version to which a redirect leads; 0 before the first change. */
export const versionOf = (location: string): number =>
  Number(/\/version\/(\d+)$/.exec(location)?.[1] ?? 0);

export class LinkChanges {
  readonly key: string;
  /** By link id. */
  readonly links: Map<string, Changed>;
  /** Aliases of links that were created meanwhile. */
  readonly created: string[] = [];
  /** Answers that the API must not give. */
  readonly failures = new Set<string>();
  /** How many events the ledger has of the time before. */
  eventsBefore = 0;
  readonly #topology: Topology;
  readonly #receiver = new WebhookReceiver();
  #changes = 0;
  #requests = 0;
  #unavailable = 0;
  #gaps = NO_GAPS;
  #lastWriteAt = performance.now();
  #lastPublishedAt = performance.now();
  #stopped = false;
  #running: Promise<void> = Promise.resolve();

  /** Creates a webhook, and changes the links of an account until it is stopped. */
  static async start(
    topology: Topology,
    key: string,
    links: readonly FollowedLink[],
  ): Promise<LinkChanges> {
    const changes = new LinkChanges(topology, key, links);
    await changes.#send("/webhooks", "POST", { url: changes.#receiver.url, events: TYPES });
    changes.eventsBefore = (await readLedger(topology.apis()[0] ?? "", key)).length;
    changes.#running = changes.#change();
    // Its error is thrown by `stop`.
    changes.#running.catch(() => undefined);
    return changes;
  }

  private constructor(topology: Topology, key: string, links: readonly FollowedLink[]) {
    this.#topology = topology;
    this.key = key;
    this.links = new Map(
      links.map(({ id, alias }) => [id, { alias, events: [], publishedAt: new Map() }]),
    );
  }

  /** Ids of events in the order in which the webhook accepted them. */
  accepted(): readonly string[] {
    return this.#receiver.ids();
  }

  /** Requests that were answered 503, with a `Retry-After`. */
  get unavailable(): number {
    return this.#unavailable;
  }

  /** The longest ones since the last call. */
  takeGaps(): ChangeGaps {
    const gaps = this.#gaps;
    this.#gaps = NO_GAPS;
    return gaps;
  }

  /** Notes to which target a request that was sent then has led. */
  seen = ({ id }: FollowedLink, sentAt: number, location: string): void => {
    const version = versionOf(location);
    for (const [later, at] of this.links.get(id)?.publishedAt ?? [])
      if (later > version) this.#note("stalenessMs", sentAt - at);
  };

  /** Ends the changes. Throws when one could not be made. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop().catch(() => undefined);
    await this.#receiver[Symbol.asyncDispose]();
  }

  async #change(): Promise<void> {
    const ids = [...this.links.keys()];
    for (let i = 0; !this.#stopped; i++) {
      if (i % CREATIONS_EVERY === 0) await this.#create();
      else await this.#changeOne(ids[i % ids.length] ?? "");
      await Bun.sleep(PAUSE_MS);
    }
  }

  async #create(): Promise<void> {
    const { id, alias } = linkSchema.parse(
      (await this.#send("/links", "POST", { url: destination(0) })).body,
    );
    this.created.push(alias);
    this.links.set(id, { alias, events: ["link.created"], publishedAt: new Map() });
  }

  async #changeOne(id: string): Promise<void> {
    const version = ++this.#changes;
    const body = { title: `change ${version}`, url: destination(version) };
    const { headers } = await this.#send(`/links/${id}`, "PATCH", body);
    const link = this.links.get(id);
    link?.events.push(`link.updated to change ${version}`);
    if (headers.has("x-propagation")) return;
    const now = performance.now();
    this.#note("publishGapMs", now - this.#lastPublishedAt);
    this.#lastPublishedAt = now;
    link?.publishedAt.set(version, now);
  }

  /**
   * Sends a request until an API process has carried it out, each time to another one. A repetition
   * does nothing twice.
   */
  async #send(path: string, method: string, body: Record<string, unknown>) {
    const headers = { "idempotency-key": crypto.randomUUID() };
    const response = await eventually(async () => {
      const apis = this.#topology.apis();
      const api = apis[this.#requests++ % apis.length];
      const options = { method, key: this.key, body, ...(method === "POST" ? { headers } : {}) };
      const answer = await callOnce(`${api}/v1${path}`, options);
      if (answer.status < 300) return answer;
      const problem = `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`;
      // Another process may hold the same request, whose answer was lost.
      if (answer.status === 503) {
        this.#unavailable++;
        if (!answer.headers.has("retry-after")) this.failures.add("503 without Retry-After");
      } else if (answer.status !== 409) this.failures.add(problem);
      throw new Error(problem);
    }, REQUEST_TIMEOUT_MS);
    createdSchema.parse(response.body);
    const now = performance.now();
    this.#note("writeGapMs", now - this.#lastWriteAt);
    this.#lastWriteAt = now;
    return response;
  }

  #note(gap: keyof ChangeGaps, ms: number): void {
    this.#gaps = { ...this.#gaps, [gap]: Math.max(this.#gaps[gap], ms) };
  }
}
