/**
 * Goal: a stream that gets full loses only segments that are stored, and a worker that ends
 * meanwhile leaves the others to the next one.
 */
import { expect, test } from "bun:test";

import type { JsMsg } from "nats";

import {
  CLICKS_STREAM,
  CLICKS_SUBJECT,
  CLICKS_WORKER,
  ensureClicksStream,
} from "../../shared/contracts/streams.ts";
import { startNats } from "../../test/harness/nats.ts";
import { longTest } from "../../test/harness/property-runs.ts";
import { ensureConsumer, readConsumer } from "./stream.ts";
import { trimStream } from "./trim.ts";

const BYTES_MAX = 200_000;
const MESSAGE = new Uint8Array(5_000);
/** They fill the stream beyond the size at which it is trimmed. */
const MESSAGES = 36;
const ACKNOWLEDGED = 20;
const DELIVERED = 25;

async function openStream() {
  const server = await startNats();
  const connection = await server.connect();
  const manager = await connection.jetstreamManager();
  await ensureClicksStream(manager, BYTES_MAX, 1);
  await ensureConsumer(manager);
  const client = connection.jetstream();
  for (let i = 0; i < MESSAGES; i++) await client.publish(CLICKS_SUBJECT, MESSAGE);
  const consumer = await client.consumers.get(CLICKS_STREAM, CLICKS_WORKER);
  const delivered: JsMsg[] = [];
  for await (const message of await consumer.fetch({ max_messages: DELIVERED, expires: 2_000 }))
    delivered.push(message);
  for (const message of delivered.slice(0, ACKNOWLEDGED)) await message.ackAck();
  return {
    connection,
    rest: delivered.slice(ACKNOWLEDGED),
    async [Symbol.asyncDispose]() {
      await connection.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** The messages that the consumer will deliver, for the first time or again. */
async function countLeft({ connection }: Awaited<ReturnType<typeof openStream>>): Promise<number> {
  const { num_ack_pending, num_pending } = await readConsumer(connection);
  return num_ack_pending + num_pending;
}

longTest("no trimming makes a consumer forget what was delivered and is not stored", async () => {
  await using stream = await openStream();
  await trimStream(stream.connection);
  expect(await countLeft(stream)).toBe(MESSAGES - ACKNOWLEDGED);
});

test.concurrent("a stream is trimmed once everything that was delivered is stored", async () => {
  await using stream = await openStream();
  const trimming = trimStream(stream.connection);
  for (const message of stream.rest) message.ack();
  expect(await trimming).toBeGreaterThan(0);
  expect(await countLeft(stream)).toBe(MESSAGES - DELIVERED);
});
