/**
 * Tells the redirectors what changed: at once after each write, and by a relay that later delivers
 * from the outbox whatever could not be told. The stream only ever moves to higher versions.
 */
import { type JetStreamClient, type JetStreamManager, type NatsConnection } from "nats";

import {
  decodeLinkRecord,
  encodeLinkRecord,
  type LinkRecord,
} from "../../shared/contracts/link-record.ts";
import {
  ensureLinksStream,
  jetStreamErrorCode,
  LINKS_STREAM,
  linkSubject,
} from "../../shared/contracts/streams.ts";
import type { Log } from "../../shared/log.ts";
import type { Sql } from "../postgres.ts";

/** How long a write waits for the feed before it answers with the delivery pending. */
const PUBLISH_TIMEOUT_MS = 2_000;

/** Each lost race means that another process moved the subject on; the relay tries again later. */
const PUBLISH_RACES_MAX = 10;

/** JetStream's error code for "the subject's last sequence is another". */
const WRONG_LAST_SEQUENCE = 10_071;

/** JetStream's error code for "no message found". */
const NO_MESSAGE = 10_037;

/** How often the relay looks, and how old a row must be for it: younger ones are being published. */
const RELAY_INTERVAL_MS = 500;
const RELAY_AFTER_SECONDS = 1;
const RELAY_BATCH = 200;

export type LinkFeed = {
  /** Publishes a committed change and clears its outbox row; false when the feed is out of reach. */
  publish(record: LinkRecord, outboxId: number): Promise<boolean>;
  /** Whether the feed has been reached since the start. */
  connected(): boolean;
  stop(): Promise<void>;
};

type LinkFeedDeps = { sql: Sql; nats: Promise<NatsConnection>; log: Log };

/** Starts the feed; NATS may come and go. */
export function startLinkFeed({ sql, nats, log }: LinkFeedDeps): LinkFeed {
  let jetStream: { client: JetStreamClient; manager: JetStreamManager } | undefined;
  let stopped = false;

  async function open(): Promise<void> {
    const connection = await nats;
    while (!stopped) {
      try {
        const manager = await connection.jetstreamManager();
        await ensureLinksStream(manager);
        jetStream = { client: connection.jetstream({ timeout: PUBLISH_TIMEOUT_MS }), manager };
        return;
      } catch (error) {
        log.warn({ error }, "links_stream_unavailable");
        await Bun.sleep(RELAY_INTERVAL_MS);
      }
    }
  }

  async function publish(record: LinkRecord, outboxId: number): Promise<boolean> {
    if (jetStream === undefined) return false;
    try {
      await publishIfNewer(jetStream, record);
    } catch (error) {
      log.warn({ error, version: record.version }, "link_publish_failed");
      return false;
    }
    // The client need not wait for this: what is left behind is published again, to no effect.
    sql`delete from link_outbox where id = ${outboxId}`.catch((error: unknown) => {
      log.warn({ error }, "outbox_delete_failed");
    });
    return true;
  }

  /** Delivers what is left in the outbox; gives how much of a batch there was. */
  async function relay(): Promise<number> {
    const connection = jetStream;
    if (connection === undefined) return 0;
    const delivered = await sql.begin(async (transaction) => {
      const rows = await transaction<{ id: string; record: LinkRecord }[]>`
        select id, record from link_outbox
         where created_at < now() - make_interval(secs => ${RELAY_AFTER_SECONDS})
         order by id limit ${RELAY_BATCH}
           for update skip locked`;
      if (rows.length === 0) return 0;
      await Promise.all(rows.map(({ record }) => publishIfNewer(connection, record)));
      await transaction`delete from link_outbox where id in ${transaction(rows.map((row) => row.id))}`;
      return rows.length;
    });
    if (delivered > 0) log.info({ delivered }, "outbox_relayed");
    return delivered;
  }

  async function run(): Promise<void> {
    await open();
    while (!stopped) {
      let delivered = 0;
      try {
        delivered = await relay();
      } catch (error) {
        log.warn({ error }, "outbox_relay_failed");
      }
      // A full batch has more behind it.
      if (delivered < RELAY_BATCH) await Bun.sleep(RELAY_INTERVAL_MS);
    }
  }

  const running = run();
  return {
    publish,
    connected: () => jetStream !== undefined,
    async stop() {
      stopped = true;
      // Without NATS the run never got past the connection, and there is nothing to finish.
      if (jetStream !== undefined) await running;
    },
  };
}

/**
 * Publishes unless the stream holds the same or a later version already. The expected sequence makes
 * the comparison and the write one step, whatever other processes publish meanwhile.
 */
async function publishIfNewer(
  { client, manager }: { client: JetStreamClient; manager: JetStreamManager },
  record: LinkRecord,
): Promise<void> {
  const subject = linkSubject(record.domain, record.alias);
  const bytes = encodeLinkRecord(record);
  let lastSequence = 0;
  for (let race = 0; race < PUBLISH_RACES_MAX; race++) {
    try {
      await client.publish(subject, bytes, { expect: { lastSubjectSequence: lastSequence } });
      return;
    } catch (error) {
      if (jetStreamErrorCode(error) !== WRONG_LAST_SEQUENCE) throw error;
    }
    const last = await lastMessage(manager, subject);
    if (last !== undefined && last.version >= record.version) return;
    lastSequence = last?.sequence ?? 0;
  }
  throw new Error(`Other publishers won ${PUBLISH_RACES_MAX} times in a row.`);
}

async function lastMessage(manager: JetStreamManager, subject: string) {
  try {
    const message = await manager.streams.getMessage(LINKS_STREAM, { last_by_subj: subject });
    // A message that is no record is replaced like an old one.
    return { sequence: message.seq, version: decodeLinkRecord(message.data)?.version ?? -1 };
  } catch (error) {
    if (jetStreamErrorCode(error) === NO_MESSAGE) return undefined;
    throw error;
  }
}
