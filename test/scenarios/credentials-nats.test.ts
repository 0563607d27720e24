/**
 * Goal: each user of deploy/nats may do what docs/credentials.md says, and nothing else: publish,
 * subscribe, send calls of JetStream; and only what it says crosses between a far region and the
 * hub. Method: all is tried on servers with the shipped files.
 */
import { expect, test } from "bun:test";
import { connect as connectTcp } from "node:net";

import type { NatsConnection } from "nats";

import { FAILURES_SUBJECT, failuresAckSubject } from "../../shared/contracts/failures.ts";
import { newUuid } from "../../shared/ids.ts";
import { manifestSubject, SNAPSHOT_REQUESTS } from "../../shared/links-log/snapshots.ts";
import { HEARTBEAT_REQUESTS, LINK_LOG_SUBJECT } from "../../shared/links-log/tail.ts";
import { NATS_RIGHTS, NATS_USERS } from "../credentials/nats.ts";
import { findDeviations, readRights, type Right, words } from "../credentials/rights.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { NatsCluster } from "../harness/nats-cluster.ts";
import { ownNatsServer } from "../harness/nats.ts";

/** The direction in which a message crosses, by the permissions of the user `region`. */
const DIRECTIONS = ["to the hub", "to the region"] as const;

/** The domain of the far region of the tests. */
const FAR = "far";

/** The last message of a direction: when it has arrived, so has all that crosses before it. */
const LAST = {
  "to the hub": FAILURES_SUBJECT,
  "to the region": failuresAckSubject(newUuid()),
};

/** Calls of JetStream in the other region. */
const inHub = (names: string): string[] => words(names).map((call) => `$JS.hub.API.${call}`);
const inRegion = (names: string): string[] => words(names).map((call) => `$JS.${FAR}.API.${call}`);

const REGION_RIGHTS: readonly Right[] = readRights("### Between regions", DIRECTIONS, {
  "reports of failed requests": [LAST["to the hub"]],
  "confirmations of reports": [LAST["to the region"]],
  "follow `LINK_LOG` and `LINK_SNAPSHOTS` of the hub": inHub(
    "CONSUMER.CREATE.LINK_LOG CONSUMER.CREATE.LINK_SNAPSHOTS",
  ),
  "requests for a snapshot": [SNAPSHOT_REQUESTS],
  "requests for a heartbeat": [HEARTBEAT_REQUESTS],
  "follow `CLICKS` of the region": inRegion("CONSUMER.CREATE.CLICKS"),
  "messages of the region's `CLICKS`, and the pace of the hub's links": words(
    "$JS.S.1 $JS.FC.LINK_LOG.1 $JS.FC.LINK_SNAPSHOTS.1",
  ),
  "messages of the hub's links, and the pace of the region's `CLICKS`":
    words("$JS.M.1 $JS.FC.CLICKS.1"),
  "replies between JetStream's servers": ["$JSC.R.1"],
  "links, snapshots, clicks, ledgers, dead letters": [
    LINK_LOG_SUBJECT,
    manifestSubject("victim"),
    ...words("clicks.segment limits.victim clicks_dlq.segment"),
  ],
  "requests for the status, and replies to users": words(
    "shorthop.status _INBOX_api.1.1 _INBOX_operator.1.1 _INBOX_worker.1",
  ),
  "any other call of JetStream about streams": [
    ...inHub("STREAM.PURGE.CLICKS STREAM.DELETE.LINK_LOG STREAM.UPDATE.LINK_LOG"),
    ...inHub(
      "STREAM.INFO.LINK_LOG STREAM.MSG.GET.LINK_LOG DIRECT.GET.LINK_LOG STREAM.CREATE.OTHER",
    ),
    ...inHub("CONSUMER.CREATE.CLICKS CONSUMER.DELETE.CLICKS.worker CONSUMER.LIST.LINK_LOG"),
    ...inRegion("STREAM.PURGE.LINK_LOG STREAM.DELETE.CLICKS STREAM.MSG.GET.CLICKS"),
    ...inRegion("STREAM.UPDATE.LINK_LOG DIRECT.GET.LINK_LOG STREAM.INFO.CLICKS"),
  ],
  "anything else: buckets, subjects of the server": words(
    "$KV.bucket.key $SYS.REQ.SERVER.PING $JS.EVENT.ADVISORY.API other",
  ),
});

const CROSSING_MS = 10_000;

/**
 * Publishes and subscribes to all that rows say, as the user of the URL, on one connection and in
 * NATS's own protocol: a server reports what it refuses before it responds to the PING that
 * follows. Resolves to what it refused; rejects when it refuses the login.
 */
function tryNats(url: string, rights: readonly Right[]): Promise<ReadonlySet<string>> {
  const { hostname, port, username: user, password: pass } = new URL(url);
  const operations = rights
    .flatMap(({ tried }) => tried)
    .map((one, i) => {
      const [operation, subject] = one.split(" ");
      return operation === "publish" ? `PUB ${subject} 0\r\n` : `SUB ${subject} ${i}`;
    });
  const lines = [
    `CONNECT ${JSON.stringify({ user, pass, verbose: false })}`,
    ...operations,
    "PING",
    "",
  ];
  return new Promise((resolve, reject) => {
    let received = "";
    const socket = connectTcp(Number(port), hostname, () => socket.write(lines.join("\r\n")));
    socket.setEncoding("utf8");
    socket.on("error", reject);
    socket.on("close", () => reject(new Error(`The server closed the connection: ${received}`)));
    socket.on("data", (text: string) => {
      received += text;
      if (received.includes("-ERR 'Authorization")) reject(new Error(received));
      if (!/^PONG\r$/m.test(received)) return;
      const refused = received.matchAll(/^-ERR 'Permissions Violation for (\w+) to "(\S+)"/gm);
      resolve(
        new Set(
          [...refused].map(
            ([, operation, subject]) =>
              `${operation === "Publish" ? "publish" : "subscribe"} ${subject}`,
          ),
        ),
      );
      socket.destroy();
    });
  });
}

/** A call in another region arrives there as one of its own. */
const asReceived = (subject: string): string => subject.replace(/^\$JS\.\w+\.API\./, "$JS.API.");

/**
 * Publishes every subject of the rows in one region, as a user who may publish everything there;
 * resolves to what does not arrive in the other. `last` is a subject that crosses; messages of one
 * connection arrive in their order.
 */
async function tryCrossing(
  from: NatsConnection,
  to: NatsConnection,
  last: string,
): Promise<ReadonlySet<string>> {
  // Each message has the subject it was published with: JetStream maps those of calls in another
  // region.
  const arrived = new Set<string>();
  const subjects = REGION_RIGHTS.flatMap(({ tried }) => tried).filter((one) => one !== last);
  for (const subject of [...subjects, last])
    to.subscribe(asReceived(subject), {
      callback: (_, message) => void arrived.add(message.string()),
    });
  await to.flush();
  const send = async (text: string): Promise<void> => {
    from.publish(last, text);
    await from.flush();
    if (!arrived.has(text)) throw new Error(`${last} has not arrived.`);
  };
  // Once a message arrives, the other server knows of all subscriptions.
  await eventually(() => send("before"), CROSSING_MS);
  for (const subject of subjects) from.publish(subject, subject);
  await eventually(() => send(last), CROSSING_MS);
  return new Set(subjects.filter((subject) => !arrived.has(subject)));
}

const program = await ownNatsServer();
const server = { count: 1, tls: false };
const hubRegion = { domain: "hub", addresses: [] } as const;
const hub = await forFile(NatsCluster.start(program, { ...server, region: hubRegion }));
const farRegion = {
  domain: FAR,
  hub: hub.servers.map(({ leafPort }) => `127.0.0.1:${leafPort}`),
  ca: hub.env.NODE_EXTRA_CA_CERTS,
};
const far = await forFile(NatsCluster.start(program, { ...server, region: farRegion }));

const urlOf = (user: (typeof NATS_USERS)[number]): string =>
  user === "far redirector" ? far.url("redirector") : hub.url(user);

test.each(NATS_USERS)("the %s may do what the page says, and no more", async (user) => {
  const refused = await tryNats(urlOf(user), NATS_RIGHTS);
  expect(findDeviations(user, NATS_RIGHTS, refused)).toEqual([]);
});

test("the operator may do everything, in each region", async () => {
  for (const nats of [hub, far])
    expect(await tryNats(nats.url("operator"), NATS_RIGHTS)).toEqual(new Set());
});

test("users log in only where they belong", async () => {
  expect(tryNats(far.url("worker"), [])).rejects.toThrow(/Authorization/);
  expect(tryNats(far.url("api"), [])).rejects.toThrow(/Authorization/);
  const region = hub.url("operator").replace("operator", "region");
  expect(tryNats(region, [])).rejects.toThrow(/Authorization/);
  const stranger = hub.url("operator").replace(/operator:[^@]*/, "operator:guess");
  expect(tryNats(stranger, [])).rejects.toThrow(/Authorization/);
});

test("only what the page says crosses between a far region and the hub", async () => {
  const there = await far.connect("operator");
  const here = await hub.connect("operator");
  for (const direction of DIRECTIONS) {
    const [from, to] = direction === "to the hub" ? [there, here] : [here, there];
    const refused = await tryCrossing(from, to, LAST[direction]);
    expect(findDeviations(direction, REGION_RIGHTS, refused)).toEqual([]);
  }
  await there.close();
  await here.close();
});
