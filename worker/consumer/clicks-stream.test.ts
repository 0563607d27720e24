/**
 * Goal: a stream that gets full loses only segments that are stored, and a worker that ends
 * meanwhile leaves the others to the next one. A stream that came back older is read again.
 */
import { expect, test } from "bun:test";

import type { JsMsg } from "nats";

import { CLICKS_SUBJECT } from "../../shared/contracts/streams.ts";
import { UNKNOWN_LOCATION } from "../../shared/visitors/geo.ts";
import { startNats } from "../../test/harness/nats.ts";
import { longTest } from "../../test/harness/property-runs.ts";
import { Enricher } from "../enrich/rows.ts";
import { ClicksStream } from "./clicks-stream.ts";

const BYTES_MAX = 200_000;
const MESSAGE = new Uint8Array(5_000);
/** They fill the stream beyond the size at which it is trimmed. */
const MESSAGES = 36;
const ACKNOWLEDGED = 20;
const DELIVERED = 25;

async function openStream() {
  const server = await startNats();
  const connection = await server.connect();
  const geo = { locate: () => UNKNOWN_LOCATION, databases: () => [] };
  const stream = new ClicksStream(connection, new Enricher(geo, "secret", new Set()));
  await stream.ensure(BYTES_MAX, 1);
  const client = connection.jetstream();
  for (let i = 0; i < MESSAGES; i++) await client.publish(CLICKS_SUBJECT, MESSAGE);
  const consumer = await stream.consumer();
  const delivered: JsMsg[] = [];
  for await (const message of await consumer.fetch({ max_messages: DELIVERED, expires: 2_000 }))
    delivered.push(message);
  for (const message of delivered.slice(0, ACKNOWLEDGED)) await message.ackAck();
  const info = delivered[ACKNOWLEDGED - 1]?.info;
  if (info === undefined) throw new Error("Nothing was delivered.");
  return {
    stream,
    /** Where the last message is that was stored. */
    last: { sequence: info.streamSequence, publishedAt: info.timestampNanos },
    rest: delivered.slice(ACKNOWLEDGED),
    async [Symbol.asyncDispose]() {
      await connection.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** The messages that the consumer will deliver, for the first time or again. */
async function countLeft({ stream }: Awaited<ReturnType<typeof openStream>>): Promise<number> {
  const { num_ack_pending, num_pending } = await stream.readConsumer();
  return num_ack_pending + num_pending;
}

longTest("no trimming makes a consumer forget what was delivered and is not stored", async () => {
  await using world = await openStream();
  await world.stream.trim();
  expect(await countLeft(world)).toBe(MESSAGES - ACKNOWLEDGED);
});

test.concurrent("a stream is trimmed once everything that was delivered is stored", async () => {
  await using world = await openStream();
  const trimming = world.stream.trim();
  for (const message of world.rest) message.ack();
  expect(await trimming).toBeGreaterThan(0);
  expect(await countLeft(world)).toBe(MESSAGES - DELIVERED);
});

test.concurrent(
  "the consumer begins again if the stream lacks what was stored last, and only then",
  async () => {
    await using world = await openStream();
    const { stream, last } = world;
    const positions = { none: undefined, last, expired: { ...last, sequence: 0 } };
    for (const position of Object.values(positions))
      expect(await stream.resetConsumerIfMoved(position)).toBe(false);
    expect(await countLeft(world)).toBe(MESSAGES - ACKNOWLEDGED);
    // Rolled back to before it; or filled again to another message in its place.
    const moved = [
      { ...last, sequence: MESSAGES + 1 },
      { ...last, publishedAt: last.publishedAt + 1e6 },
    ];
    for (const position of moved) {
      expect(await stream.resetConsumerIfMoved(position)).toBe(true);
      expect(await countLeft(world)).toBe(MESSAGES);
    }
  },
);
