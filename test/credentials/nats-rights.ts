/**
 * What each user of deploy/nats may publish and subscribe to. The user `operator` may do
 * everything. Users of worker and API do not exist in a far region.
 */
import { FAILURES_SUBJECT, failuresAckSubject } from "../../shared/contracts/failures.ts";
import { CLICKS_SUBJECT, DEAD_LETTERS_SUBJECT } from "../../shared/contracts/streams.ts";
import { newUuid } from "../../shared/ids.ts";
import {
  chunkSubject,
  manifestSubject,
  SNAPSHOT_REQUESTS,
} from "../../shared/links-log/snapshots.ts";
import { HEARTBEAT_REQUESTS, LINK_LOG_SUBJECT } from "../../shared/links-log/tail.ts";
import { STATUS_SUBJECT } from "../../shared/status.ts";
import { type Right, words } from "./rights.ts";

export const NATS_USERS = ["redirector", "far redirector", "worker", "api"] as const;

type NatsUser = (typeof NATS_USERS)[number];

export type NatsRight = Right<NatsUser> & {
  operation: "publish" | "subscribe";
  /** Subjects of this kind. Who may, may use all of them; who may not, none. */
  subjects: readonly string[];
};

export const REDIRECTORS = ["redirector", "far redirector"] as const;
export const NOBODY = [] as const;

/** A row about subjects to publish to. */
export const publish = (
  what: string,
  subjects: readonly string[],
  may: readonly NatsUser[],
  why = "",
): NatsRight => ({ operation: "publish", what, subjects, may, why });

const subscribe = (
  what: string,
  subjects: readonly string[],
  may: readonly NatsUser[],
  why = "",
): NatsRight => ({ operation: "subscribe", what, subjects, may, why });

/** Messages of the product itself. */
export const MESSAGES: readonly NatsRight[] = [
  publish(
    "publish an entry of the links log: a link, a takedown or a heartbeat; and a snapshot",
    [LINK_LOG_SUBJECT, chunkSubject("victim", 1), manifestSubject("victim")],
    ["api"],
    "the links log is the API's",
  ),
  publish(
    "ask for a snapshot",
    [SNAPSHOT_REQUESTS],
    REDIRECTORS,
    "a host that lacks entries; the API makes one a minute at most",
  ),
  publish(
    "ask for a heartbeat",
    [HEARTBEAT_REQUESTS],
    REDIRECTORS,
    "a host that begins to follow; the API publishes some a second at most",
  ),
  publish(
    "publish a segment of clicks",
    [CLICKS_SUBJECT],
    [...REDIRECTORS, "api"],
    "redirectors deliver clicks; `shorthop dlq retry` publishes dead letters again, as the API's user",
  ),
  publish("publish a dead letter", [DEAD_LETTERS_SUBJECT], ["worker"], "what ClickHouse rejects"),
  publish(
    "write a ledger of a click limit",
    ["limits.victim"],
    REDIRECTORS,
    "redirectors lease clicks; in a far region there is no such stream",
  ),
  publish("report failed requests", [FAILURES_SUBJECT], REDIRECTORS, "workers store the reports"),
  publish(
    "confirm such a report",
    [failuresAckSubject(newUuid())],
    ["worker"],
    "a redirector repeats a report until then",
  ),
  publish("ask all processes for their status", [STATUS_SUBJECT], ["api"], "`shorthop status`"),
  publish(
    "reply to API and operator",
    ["_INBOX_api.request.1", "_INBOX_operator.request.1"],
    NATS_USERS,
    "the replies to `shorthop status`; names of inboxes are random",
  ),
  publish(
    "publish anything else: other inboxes, subjects of JetStream and of the server, buckets",
    [
      ...words("link_log link_log.other link_snapshots clicks clicks.other clicks_dlq.other"),
      ...words("limits limits.a.b failures failures.other failures.ack shorthop.other other"),
      ...words("_INBOX.1 _INBOX_redirector.1.1 _INBOX_worker.1.1 _INBOX_api.1 _INBOX_api.1.1.1"),
      ...words("$JS.EVENT.ADVISORY.API $JS.M.1 $JS.S.1 $JSC.R.1 $JS.FC.CLICKS.1"),
      ...words("$SYS.REQ.SERVER.PING $SYS.REQ.ACCOUNT.PING.CONNZ $KV.bucket.key $O.bucket.C.1"),
      "$JS.other.API.INFO",
    ],
    NOBODY,
  ),
  subscribe("receive replies to a redirector", ["_INBOX_redirector.>"], REDIRECTORS, "its own"),
  subscribe("receive replies to a worker", ["_INBOX_worker.>"], ["worker"], "its own"),
  subscribe("receive replies to the API", ["_INBOX_api.>"], ["api"], "its own"),
  subscribe(
    "receive requests for the status",
    [STATUS_SUBJECT],
    NATS_USERS,
    "each process replies",
  ),
  subscribe("receive requests for a snapshot", [SNAPSHOT_REQUESTS], ["api"], "it makes them"),
  subscribe("receive requests for a heartbeat", [HEARTBEAT_REQUESTS], ["api"], "it publishes them"),
  subscribe("receive reports of failed requests", [FAILURES_SUBJECT], ["worker"], "it stores them"),
  subscribe(
    "receive confirmations of reports",
    ["failures.ack.*"],
    REDIRECTORS,
    "those of its own reports; their subjects are random",
  ),
  subscribe(
    "receive anything else: links, clicks, calls of JetStream, everything",
    [
      ...words("> * *.> link_log.> link_snapshots.> clicks.> clicks_dlq.> limits.> failures.>"),
      ...words("_INBOX.> _INBOX_operator.> $JS.> $JS.API.> $JS.EVENT.> $JS.ACK.> $SYS.>"),
      ...words("$KV.> $O.>"),
    ],
    NOBODY,
  ),
];
