/**
 * Takes pages from JetStream and sees each one through: stored and acknowledged, or set aside with
 * the reason. A page is acknowledged only after its rows are in ClickHouse; until then JetStream
 * delivers it again, and its token makes that harmless.
 */
import {
  AckPolicy,
  DeliverPolicy,
  headers,
  type JetStreamClient,
  type JsMsg,
  nanos,
  type NatsConnection,
} from "nats";

import { type ClickPage, decodePage, pageIdText } from "../shared/contracts/click-page.ts";
import { REASON_HEADER } from "../shared/contracts/dead-clicks.ts";
import {
  CLICKS_STREAM,
  CLICKS_WORKER,
  DEAD_CLICKS_SUBJECT,
  ensureClicksStream,
  ensureDeadClicksStream,
} from "../shared/contracts/streams.ts";
import type { Uuid } from "../shared/ids.ts";
import type { Log } from "../shared/log.ts";
import { isRejected } from "./clickhouse.ts";
import type { ClickRow } from "./enrich/enrich.ts";

/**
 * How soon the pages of a killed worker go to another one. A page in hand is kept for longer by
 * telling JetStream so in time; one that is handed out twice all the same is stored once.
 */
const ACK_WAIT_MS = 10_000;
const KEEP_ALIVE_MS = 3_000;

/** Pages out with all workers together, and in this one's hands at once. */
const ACK_PENDING_MAX = 256;
const IN_HAND_MAX = 8;

const FETCH_EXPIRES_MS = 1_000;
const RETRY_MS = { first: 200, max: 10_000 };

export type ConsumerDeps = {
  nats: Promise<NatsConnection>;
  streamBytesMax: number;
  log: Log;
  enrich: (page: ClickPage) => ClickRow[];
  store: (page: ClickPage, rows: readonly ClickRow[]) => Promise<void>;
  /** Told of the links whose figures have changed. */
  onStored: (linkIds: Iterable<Uuid>) => void;
  count: (outcome: "stored" | "dead" | "torn", pages: number, clicks: number) => void;
};

export type Consumer = {
  /** `ok` while pages are being fetched, else why not. */
  state(): string;
  /** Pages that wait in JetStream, as last told. */
  pending(): number;
  /** Finishes the pages in hand and takes no more. */
  stop(): Promise<void>;
};

type Outcome = "acknowledged" | "abandoned";

export function startConsumer(deps: ConsumerDeps): Consumer {
  const { nats, streamBytesMax, log, enrich, store, onStored, count } = deps;
  const inHand = new Set<Promise<Outcome>>();
  let state = "not connected yet";
  let pending = 0;
  let stopped = false;

  async function consume(connection: NatsConnection): Promise<void> {
    const manager = await connection.jetstreamManager();
    await ensureClicksStream(manager, streamBytesMax);
    await ensureDeadClicksStream(manager);
    await manager.consumers.add(CLICKS_STREAM, {
      durable_name: CLICKS_WORKER,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(ACK_WAIT_MS),
      deliver_policy: DeliverPolicy.All,
      max_deliver: -1,
      max_ack_pending: ACK_PENDING_MAX,
    });
    const client = connection.jetstream();
    const consumer = await client.consumers.get(CLICKS_STREAM, CLICKS_WORKER);
    while (!stopped) {
      const room = IN_HAND_MAX - inHand.size;
      const messages = await consumer.fetch({ max_messages: room, expires: FETCH_EXPIRES_MS });
      state = "ok";
      for await (const message of messages) {
        pending = message.info.pending;
        const handling = handle(client, message).finally(() => inHand.delete(handling));
        inHand.add(handling);
      }
      if (inHand.size >= IN_HAND_MAX) await Promise.race(inHand);
    }
  }

  async function handle(client: JetStreamClient, message: JsMsg): Promise<Outcome> {
    const keepAlive = setInterval(() => message.working(), KEEP_ALIVE_MS);
    try {
      for (let wait = RETRY_MS.first; !stopped; wait = Math.min(wait * 2, RETRY_MS.max)) {
        try {
          await handleOnce(client, message);
          return "acknowledged";
        } catch (error) {
          log.warn({ error, sequence: message.seq }, "page_not_stored_yet");
          await Bun.sleep(wait);
        }
      }
      message.nak();
      return "abandoned";
    } finally {
      clearInterval(keepAlive);
    }
  }

  async function handleOnce(client: JetStreamClient, message: JsMsg): Promise<void> {
    const page = decodePage(Buffer.from(message.data));
    if (page === undefined) return await setAside(client, message, page, "not a page of clicks");
    try {
      if (page.clicks.length > 0) await store(page, enrich(page));
    } catch (error) {
      if (!isRejected(error)) throw error;
      return await setAside(client, message, page, String(error));
    }
    onStored(new Set(page.clicks.map((click) => click.linkId)));
    // Counted when it is done with, however often that was tried.
    if (!page.whole) count("torn", 1, 0);
    count("stored", 1, page.clicks.length);
    message.ack();
  }

  /** Keeps a page that can never be stored, whole, where an operator finds it. */
  async function setAside(
    client: JetStreamClient,
    message: JsMsg,
    page: ClickPage | undefined,
    reason: string,
  ): Promise<void> {
    const id = page === undefined ? `sequence:${message.seq}` : pageIdText(page);
    const header = headers();
    header.set(REASON_HEADER, reason.replaceAll(/[\r\n]+/g, " ").slice(0, 500));
    await client.publish(DEAD_CLICKS_SUBJECT, message.data, { msgID: id, headers: header });
    log.error({ page: id, reason }, "page_set_aside");
    count("dead", 1, page?.clicks.length ?? 0);
    message.term();
  }

  async function run(): Promise<void> {
    const connection = await nats;
    while (!stopped) {
      try {
        await consume(connection);
      } catch (error) {
        state = `interrupted: ${error instanceof Error ? error.message : "for no known reason"}`;
        if (!stopped) log.warn({ error }, "consumer_interrupted");
        await Bun.sleep(RETRY_MS.first);
      }
    }
  }

  void run();
  return {
    state: () => state,
    pending: () => pending,
    async stop() {
      stopped = true;
      await Promise.all(inHand);
    },
  };
}
