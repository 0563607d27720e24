/**
 * Goal: links of any size reach a host: a pull takes no more than NATS delivers to one client.
 * Method: a real NATS server that ends a client for which little waits.
 */
import { expect, setDefaultTimeout, test } from "bun:test";

import { encodeHeartbeat } from "../../shared/contracts/feed-notices.ts";
import { encodeLinkRecord, LINK_RECORD_BYTES_MAX } from "../../shared/contracts/link-record.ts";
import {
  ensureLinksStream,
  HEARTBEAT_SUBJECT,
  linkSubject,
  PULL_BYTES_MAX,
} from "../../shared/contracts/streams.ts";
import { createLog } from "../../shared/log.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { startTestHost } from "../../test/harness/host-links.ts";
import { activeLink } from "../../test/harness/link-record.ts";
import { startNats } from "../../test/harness/nats.ts";

setDefaultTimeout(120_000);

/** Large records, several times as much as the server lets wait. */
const LINKS = 1_000;
const RECORD_BYTES = LINK_RECORD_BYTES_MAX - 1_024;

test("a host takes over links that together are larger than NATS lets wait, and its connection lasts", async () => {
  await using server = await startNats(`max_pending: ${PULL_BYTES_MAX + 2 * 1024 * 1024}`);
  const connection = await server.connect();
  await ensureLinksStream(await connection.jetstreamManager(), 1);
  const client = connection.jetstream();
  const destination = `https://example.com/${"a".repeat(RECORD_BYTES)}`;
  for (let i = 0; i < LINKS; i++) {
    const record = { ...activeLink(`link-${i}`, 1), destination };
    await client.publish(linkSubject(record), encodeLinkRecord(record));
  }
  const heartbeat = encodeHeartbeat({ complete: true, epoch: 1, version: 2 });
  await client.publish(HEARTBEAT_SUBJECT, heartbeat);
  await connection.close();
  await using host = startTestHost(server.url, { log: createLog("test", "silent") });
  await eventually(async () => expect(host.health.complete()).toBe(true), 60_000);
  expect(host.versionOf(`link-${LINKS - 1}`)).toBe(1);
  const state = await (await fetch(`${server.monitoring}/varz`)).json();
  expect(state).toMatchObject({ slow_consumers: 0 });
});
