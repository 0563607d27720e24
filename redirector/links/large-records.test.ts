/**
 * Goal: links of any size reach a host: a pull takes no more than NATS delivers to one client.
 * Method: a real NATS server that ends a client for which little waits.
 */
import { expect, setDefaultTimeout, test } from "bun:test";

import { encodeLinkRecord, LINK_RECORD_BYTES_MAX } from "../../shared/contracts/link-record.ts";
import { PULL_BYTES_MAX } from "../../shared/contracts/streams.ts";
import { ensureLinkLogStream } from "../../shared/links-log/tail.ts";
import { processLog } from "../../shared/log.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { TestHost } from "../../test/harness/host-links.ts";
import { activeLink } from "../../test/harness/links-log.ts";
import { startNats } from "../../test/harness/nats.ts";
import { publishEntries, TestLog } from "../../test/harness/test-log.ts";

setDefaultTimeout(120_000);

/** Large states, several times as much as the server lets wait. */
const LINKS = 500;
const STATE_BYTES = LINK_RECORD_BYTES_MAX - 1_024;

test("a host takes over links that together are larger than NATS lets wait, and its connection lasts", async () => {
  await using server = await startNats(`max_pending: ${PULL_BYTES_MAX + 2 * 1024 * 1024}`);
  const connection = await server.connect();
  await ensureLinkLogStream(await connection.jetstreamManager(), 1);
  const destination = `https://example.com/${"a".repeat(STATE_BYTES)}`;
  const written = new TestLog();
  const entries = Array.from({ length: LINKS }, (_, i) =>
    written.add([encodeLinkRecord({ ...activeLink(`link-${i}`, 1), destination })]),
  );
  await publishEntries(connection, entries);
  await connection.close();
  await using host = new TestHost(server.url, processLog("test", "silent"));
  await eventually(
    async () => expect(host.state).toMatchObject({ links: LINKS, pending: 0 }),
    60_000,
  );
  expect(host.versionOf(`link-${LINKS - 1}`)).toBe(1);
  const state = await (await fetch(`${server.monitoring}/varz`)).json();
  expect(state).toMatchObject({ slow_consumers: 0 });
});
