/**
 * Goal: a malformed state in the links log is skipped, counted and logged, and stops no redirector.
 * Method: a real NATS server.
 */
import { expect, setDefaultTimeout, test } from "bun:test";

import { encodeLinkRecord } from "../../shared/contracts/link-record.ts";
import { domainNotice, takedownNotice } from "../../shared/contracts/notices.ts";
import { ensureLinkLogStream } from "../../shared/links-log/tail.ts";
import { processLog } from "../../shared/log.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { TestHost } from "../../test/harness/host-links.ts";
import { activeLink } from "../../test/harness/links-log.ts";
import { startNats } from "../../test/harness/nats.ts";
import { publishEntries, TestLog } from "../../test/harness/test-log.ts";

setDefaultTimeout(60_000);

/** States that are not whole. */
const MALFORMED: readonly Readonly<Record<string, unknown>>[] = [
  { ...activeLink("bad0", 1), password_hash: 5 },
  { ...activeLink("bad1", 1), version: "1" },
  { ...activeLink("bad2", 1), account_id: null },
  { ...activeLink("bad3", 1), extras: { rules: [{}] } },
  { ...activeLink("bad4", 1), destination: "https://example.com/\r\nset-cookie: a=b" },
  { ...takedownNotice({ accounts: [], hosts: [] }), takedowns: { accounts: 5, hosts: [] } },
  { ...domainNotice("go.example.com", {}), settings: { root_url: 5 } },
];

test("changes behind malformed states arrive, and those are skipped, counted and logged by their position", async () => {
  await using server = await startNats();
  await using cleanup = new AsyncDisposableStack();
  const connection = await server.connect();
  cleanup.defer(() => connection.close());
  await ensureLinkLogStream(await connection.jetstreamManager(), 1);
  const lines: string[] = [];
  const log = processLog("redirector", "warn", { write: (line) => void lines.push(line) });
  const written = new TestLog();
  const takedowns = encodeLinkRecord(takedownNotice({ accounts: [], hosts: [] }));
  await publishEntries(connection, [written.add([takedowns])]);
  await using host = new TestHost(server.url, log);
  await eventually(async () => expect(host.process.health.complete()).toBe(true));

  const positions: number[] = [];
  for (const [i, record] of MALFORMED.entries()) {
    const entry = written.add([Buffer.from(JSON.stringify(record)), `good${i}`]);
    positions.push(entry.position);
    await publishEntries(connection, [entry]);
    await eventually(async () => expect(host.versionOf(`good${i}`)).toBeNumber());
  }
  expect(host.skipped).toBe(MALFORMED.length);
  const logged = lines.filter((line) => line.includes("links_log_skipped"));
  expect(logged.map((line) => JSON.parse(line).position)).toEqual(positions);
  expect(logged.join("\n")).not.toMatch(/bad\d|example\.com/);

  // Whether such a link exists is not known, until a good state replaces it.
  expect(host.process.links.find("", "bad0")).toBeUndefined();
  expect(host.process.links.fetch("", "bad0")).rejects.toThrow("malformed");
  const mended = activeLink("bad0", 2);
  await publishEntries(connection, [written.add([encodeLinkRecord(mended)])]);
  await eventually(async () => expect(host.process.links.find("", "bad0")).toEqual(mended));

  // A host that starts beside a malformed list of takedowns follows the log as well.
  await using late = new TestHost(server.url, log);
  await eventually(async () => expect(late.process.links.find("", "bad0")).toEqual(mended));
});
