/**
 * Goal: with the shipped NATS users, no user can have another's process publish what it may not
 * publish itself: the server refuses a reply to a link, a ledger or a call of JetStream, also of a
 * process that would send it. That replies arrive where they may is in the scenario `credentials`.
 */
import { expect, test } from "bun:test";

import { ErrorCode, Events } from "nats";

import { FAILURES_SUBJECT } from "../../shared/contracts/failures.ts";
import {
  CLICKS_STREAM,
  CLICKS_SUBJECT,
  ensureClicksStream,
  ensureLimitsStream,
  LIMITS_STREAM,
} from "../../shared/contracts/streams.ts";
import {
  ensureSnapshotsStream,
  manifestSubject,
  SNAPSHOTS_STREAM,
} from "../../shared/links-log/snapshots.ts";
import {
  ensureLinkLogStream,
  LINK_LOG_STREAM,
  LINK_LOG_SUBJECT,
} from "../../shared/links-log/tail.ts";
import { STATUS_SUBJECT } from "../../shared/status.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { NatsCluster } from "../harness/nats-cluster.ts";
import { ownNatsServer } from "../harness/nats.ts";

const TIMEOUT_MS = 2_000;

type Answering = "redirector" | "worker" | "api";

/**
 * Where a reply does harm: it would be an entry of the links log, a snapshot, a ledger or a click,
 * or a call of JetStream.
 */
const HARMFUL = [
  LINK_LOG_SUBJECT,
  manifestSubject("victim"),
  "limits.victim",
  CLICKS_SUBJECT,
  `$JS.API.STREAM.PURGE.${LINK_LOG_STREAM}`,
  `$JS.API.STREAM.PURGE.${SNAPSHOTS_STREAM}`,
  `$JS.API.STREAM.PURGE.${CLICKS_STREAM}`,
  `$JS.API.STREAM.PURGE.${LIMITS_STREAM}`,
  `$JS.API.STREAM.DELETE.${LINK_LOG_STREAM}`,
];

/** What the process of a user publishes by itself, so that only its code refuses to reply there. */
const OWN: Record<Answering, RegExp> = {
  redirector: /^(?:clicks|limits)\./,
  worker: /^\$JS\.API\.STREAM\.PURGE\.CLICKS$/,
  api: /^(?:(?:link_log|link_snapshots|clicks)\.|\$JS\.API\.STREAM\.PURGE\.LINK_(?:LOG|SNAPSHOTS)$)/,
};

const program = await ownNatsServer();
const hub = await forFile(NatsCluster.start(program, { count: 1 }));
// The users of a far region are those of its own server, also while it cannot reach the hub.
const region = { domain: "far", hub: ["127.0.0.1:1"], ca: hub.env.NODE_EXTRA_CA_CERTS };
const far = await forFile(NatsCluster.start(program, { count: 1, region }));
for (const nats of [hub, far]) {
  const operator = await nats.connect("operator");
  const manager = await operator.jetstreamManager();
  await ensureLinkLogStream(manager, 1);
  await ensureSnapshotsStream(manager, 1);
  await ensureClicksStream(manager, 1 << 20, 1);
  await ensureLimitsStream(manager, 1);
  for (const subject of [LINK_LOG_SUBJECT, CLICKS_SUBJECT, "limits.victim"])
    await operator.jetstream().publish(subject, "as it was");
  await operator.close();
}

/** Connects as a process that replies to each request on a subject, wherever that says. */
async function replyAnywhere(nats: NatsCluster, user: Answering, subject: string) {
  const connection = await nats.connect(user);
  const refused: string[] = [];
  const follow = async () => {
    for await (const { type, data, permissionContext } of connection.status())
      if (type === Events.Error && data === ErrorCode.PermissionsViolation)
        refused.push(permissionContext?.subject ?? "");
  };
  void follow();
  connection.subscribe(subject, { callback: (_, message) => void message.respond("{}") });
  await connection.flush();
  return { connection, refused };
}

/** The last sequence of each stream and its number of messages. */
async function readStreams(nats: NatsCluster) {
  const operator = await nats.connect("operator");
  try {
    const { streams } = await operator.jetstreamManager();
    const found: Record<string, number[]> = {};
    for await (const { config, state } of streams.list())
      found[config.name] = [state.last_seq, state.messages];
    return found;
  } finally {
    await operator.close();
  }
}

test.each([
  ["redirector", STATUS_SUBJECT, "api", "hub"],
  ["worker", STATUS_SUBJECT, "api", "hub"],
  ["api", STATUS_SUBJECT, "api", "hub"],
  ["worker", FAILURES_SUBJECT, "redirector", "hub"],
  ["redirector", STATUS_SUBJECT, "operator", "far"],
] as const)(
  "a reply of the %s's user to %s of the %s's may go to no stream and no call (%s)",
  async (answering, subject, asker, where) => {
    const nats = where === "hub" ? hub : far;
    const before = await readStreams(nats);
    const process = await replyAnywhere(nats, answering, subject);
    const asking = await nats.connect(asker);
    const harmful = HARMFUL.filter((reply) => !OWN[answering].test(reply));
    for (const reply of harmful) asking.publish(subject, "{}", { reply });
    await asking.flush();
    await eventually(
      async () => expect(process.refused.toSorted()).toEqual(harmful.toSorted()),
      TIMEOUT_MS,
    );
    expect(await readStreams(nats)).toEqual(before);
    await asking.close();
    await process.connection.close();
  },
);
