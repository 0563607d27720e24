/**
 * Goal: a report is acknowledged exactly when it need not be sent again, and only where reports are
 * acknowledged; and counts once.
 */
import { expect, test } from "bun:test";

import { queryRows } from "../shared/clicks/query.ts";
import {
  type FailureReport,
  FAILURES_SUBJECT,
  failuresAckSubject,
} from "../shared/contracts/failures.ts";
import { newUuid } from "../shared/ids.ts";
import { Replies } from "../shared/nats.ts";
import { TestClickHouse } from "../test/harness/clickhouse.ts";
import { forFile } from "../test/harness/for-file.ts";
import { AWAY, startNats } from "../test/harness/nats.ts";
import { startPostgres } from "../test/harness/postgres.ts";
import { workerContext } from "../test/harness/worker-context.ts";
import { connectClickHouse } from "./clickhouse.ts";
import { FailureReports } from "./failure-reports.ts";

const ACK_MS = 5_000;

/** Long enough for an acknowledgement that must not come. */
const NO_ACK_MS = 300;

let isUp = true;
const postgres = await forFile(startPostgres());
const { url } = await forFile(TestClickHouse.start(postgres.url));
const clickhouse = await forFile(connectClickHouse(url), (open) => open.close());
const server = await forFile(startNats());
const redirector = await forFile(server.connect(), (open) => open.close());
const worker = await forFile(server.connect(), (open) => open.close());
const stored: FailureReport[] = [];

class StoredReports extends FailureReports {
  protected override async store(report: FailureReport) {
    if (!isUp) throw new Error("ClickHouse is away.");
    await super.store(report);
    stored.push(report);
  }
}

const context = workerContext({
  nats: { ...AWAY, connection: Promise.resolve(worker) },
  clickhouse,
});
const replies = new Replies(context.log);
const reports = new StoredReports(context, replies);
// It subscribes once its connection is there, and a flush covers what was sent before it.
await Bun.sleep(0);
await worker.flush();

const send = async (data: unknown, timeout = ACK_MS): Promise<string> =>
  (
    await redirector.request(FAILURES_SUBJECT, JSON.stringify(data), {
      timeout,
      noMux: true,
      reply: failuresAckSubject(newUuid()),
    })
  ).string();

const reportOf = (domain: string) => ({
  id: newUuid(),
  bucket: 900,
  links: [],
  domains: [{ domain, requests: 2 }],
  aliases: [],
});

test("a report that is stored is acknowledged by its id, one that failed is not", async () => {
  const report = reportOf("go.example.com");
  isUp = false;
  expect(await send(report, NO_ACK_MS).catch(String)).toContain("TIMEOUT");
  isUp = true;
  expect(await send(report)).toBe(report.id);
  expect(stored).toContainEqual(report);
});

test("a report that can never be stored is acknowledged, so that others follow, and what is none is not", async () => {
  const { rejected } = reports.outcomes;
  const report = { ...reportOf("x".repeat(261)) };
  expect(await send(report)).toBe(report.id);
  expect(await send({ ...reportOf("a"), id: report.id, links: [{ reason: "other" }] })).toBe(
    report.id,
  );
  expect(await send("nonsense", NO_ACK_MS).catch(String)).toContain("TIMEOUT");
  expect(reports.outcomes.rejected).toBe(rejected + 3);
});

test.each([
  "links._.victim",
  "links._.@takedowns",
  "$JS.API.STREAM.PURGE.CLICKS",
  "_INBOX_api.a.b",
  "failures.report",
  "failures.ack.a.b",
])(
  "a report that wants to be acknowledged at %s is neither stored nor acknowledged",
  async (reply) => {
    isUp = true;
    const [before, seen] = [replies.refused, Array<string>()];
    redirector.subscribe(reply, { callback: (_, message) => void seen.push(message.string()) });
    const report = reportOf("go.example.com");
    redirector.publish(FAILURES_SUBJECT, JSON.stringify(report), { reply });
    // Acknowledged after it, so that an acknowledgement of it would have come before.
    await send(reportOf("go.example.com"));
    expect(replies.refused).toBe(before + 1);
    expect(seen.filter((data) => data === report.id)).toEqual([]);
    expect(stored.map(({ id }) => id)).not.toContain(report.id);
  },
);

test("a report that comes again, as its acknowledgement was lost, counts once", async () => {
  const domain = "twice.example.com";
  const aliases = [{ domain, alias: "sale", requests: 2 }];
  // Old ones are deleted.
  const bucket = 900 * Math.floor(Date.now() / 900_000);
  const report = { ...reportOf(domain), bucket, aliases };
  for (const each of [report, report, { ...report, id: newUuid() }])
    expect(await send(each)).toBe(each.id);
  for (const table of ["failures", "unknown_aliases"])
    expect(
      await queryRows(
        clickhouse,
        `SELECT toUInt32(sum(requests)) AS requests FROM ${table} WHERE domain = {domain: String}`,
        { domain },
      ),
    ).toEqual([{ requests: 4 }]);
});
