/**
 * Goal: an operator learns which stream has settings that lose links or clicks, or too few copies.
 */
import { expect, test } from "bun:test";

import { DiscardPolicy } from "nats";

import { forFile } from "../test/harness/for-file.ts";
import { startNats } from "../test/harness/nats.ts";
import {
  CLICKS_STREAM,
  CLICKS_SUBJECT,
  DEAD_LETTERS_STREAM,
  ensureClicksStream,
  ensureDeadLettersStream,
  ensureLimitsStream,
  LIMITS_STREAM,
} from "./contracts/streams.ts";
import { ensureSnapshotsStream, SNAPSHOTS_STREAM } from "./links-log/snapshots.ts";
import { ensureLinkLogStream, LINK_LOG_STREAM } from "./links-log/tail.ts";
import { runChecks } from "./preflight.ts";
import { checkStreams } from "./stream-checks.ts";

const nats = await forFile(startNats());
const connection = await forFile(nats.connect(), (connection) => connection.close());
const manager = await connection.jetstreamManager();

const STREAMS = [
  LINK_LOG_STREAM,
  SNAPSHOTS_STREAM,
  CLICKS_STREAM,
  DEAD_LETTERS_STREAM,
  LIMITS_STREAM,
] as const;

/** The findings that are not ok, as `check: detail`. */
async function findProblems(replicas = 1): Promise<string[]> {
  const findings = await runChecks(checkStreams({ url: nats.url, streams: STREAMS, replicas }));
  expect(findings).toHaveLength(STREAMS.length + 1);
  return findings
    .filter(({ status }) => status !== "ok")
    .map(({ check, status, detail }) => `${status} ${check}: ${detail}`);
}

test("missing streams, wrong settings and missing replicas are named", async () => {
  expect(await findProblems()).toContain("warning stream LINK_LOG: it does not exist");
  await ensureLinkLogStream(manager, 1);
  await ensureSnapshotsStream(manager, 1);
  await ensureClicksStream(manager, 1024 ** 2, 1);
  await ensureDeadLettersStream(manager, 1);
  await ensureLimitsStream(manager, 1);
  expect(await findProblems()).toEqual([]);
  expect(await findProblems(3)).toEqual(
    STREAMS.map((name) => `failed stream ${name}: it has 1 of 3 replicas`),
  );
  await connection.jetstream().publish(CLICKS_SUBJECT, new Uint8Array(970_000));
  expect(await findProblems()).toEqual(["warning stream CLICKS: it is 92 % full"]);
  await manager.streams.update(LINK_LOG_STREAM, { max_age: 1e13 });
  await manager.streams.update(SNAPSHOTS_STREAM, { max_msgs_per_subject: 1 });
  await manager.streams.update(CLICKS_STREAM, { discard: DiscardPolicy.Old });
  await manager.streams.update(DEAD_LETTERS_STREAM, { max_age: 1e13 });
  await manager.streams.update(LIMITS_STREAM, { max_age: 1e13 });
  expect(await findProblems()).toEqual([
    "failed stream LINK_LOG: its messages expire",
    "failed stream LINK_SNAPSHOTS: it limits the messages of a subject",
    "failed stream CLICKS: it drops old messages when it is full",
    "failed stream CLICKS_DLQ: its dead letters expire",
    "failed stream LIMITS: its ledgers expire, and links would redirect more often than they may",
  ]);
});

test("without NATS each check fails in time", async () => {
  const options = { url: "nats://127.0.0.1:1", streams: STREAMS, replicas: 1 };
  for (const { status } of await runChecks(checkStreams(options))) expect(status).toBe("failed");
});
