/**
 * What users of deploy/nats may publish and subscribe to, and which calls of JetStream they may
 * send: the rows of docs/credentials.md, with what is tried for each.
 */
import { FAILURES_SUBJECT, failuresAckSubject } from "../../shared/contracts/failures.ts";
import {
  CLICKS_STREAM,
  CLICKS_SUBJECT,
  CLICKS_WORKER,
  DEAD_LETTERS_STREAM,
  DEAD_LETTERS_SUBJECT,
  LIMITS_STREAM,
} from "../../shared/contracts/streams.ts";
import { newUuid } from "../../shared/ids.ts";
import {
  chunkSubject,
  manifestSubject,
  SNAPSHOT_REQUESTS,
  SNAPSHOTS_STREAM,
} from "../../shared/links-log/snapshots.ts";
import {
  HEARTBEAT_REQUESTS,
  LINK_LOG_STREAM,
  LINK_LOG_SUBJECT,
} from "../../shared/links-log/tail.ts";
import { STATUS_SUBJECT } from "../../shared/status.ts";
import { readRights, type Right, words } from "./rights.ts";

export const NATS_USERS = ["redirector", "far redirector", "worker", "api"] as const;

const publish = (...subjects: string[]): string[] => subjects.map((name) => `publish ${name}`);
const subscribe = (...subjects: string[]): string[] => subjects.map((name) => `subscribe ${name}`);

/** Messages of the product itself. */
const MESSAGES = {
  "publish an entry of the links log: a link, a takedown or a heartbeat; and a snapshot": publish(
    LINK_LOG_SUBJECT,
    chunkSubject("victim", 1),
    manifestSubject("victim"),
  ),
  "ask for a snapshot": publish(SNAPSHOT_REQUESTS),
  "ask for a heartbeat": publish(HEARTBEAT_REQUESTS),
  "publish a segment of clicks": publish(CLICKS_SUBJECT),
  "publish a dead letter": publish(DEAD_LETTERS_SUBJECT),
  "write a ledger of a click limit": publish("limits.victim"),
  "report failed requests": publish(FAILURES_SUBJECT),
  "confirm such a report": publish(failuresAckSubject(newUuid())),
  "ask all processes for their status": publish(STATUS_SUBJECT),
  "reply to API and operator": publish("_INBOX_api.request.1", "_INBOX_operator.request.1"),
  "publish anything else: other inboxes, subjects of JetStream and of the server, buckets": publish(
    ...words("link_log link_log.other link_snapshots clicks clicks.other clicks_dlq.other"),
    ...words("limits limits.a.b failures failures.other failures.ack shorthop.other other"),
    ...words("_INBOX.1 _INBOX_redirector.1.1 _INBOX_worker.1.1 _INBOX_api.1 _INBOX_api.1.1.1"),
    ...words("$JS.EVENT.ADVISORY.API $JS.M.1 $JS.S.1 $JSC.R.1 $JS.FC.CLICKS.1"),
    ...words("$SYS.REQ.SERVER.PING $SYS.REQ.ACCOUNT.PING.CONNZ $KV.bucket.key $O.bucket.C.1"),
    "$JS.other.API.INFO",
  ),
  "receive replies to a redirector": subscribe("_INBOX_redirector.>"),
  "receive replies to a worker": subscribe("_INBOX_worker.>"),
  "receive replies to the API": subscribe("_INBOX_api.>"),
  "receive requests for the status": subscribe(STATUS_SUBJECT),
  "receive requests for a snapshot": subscribe(SNAPSHOT_REQUESTS),
  "receive requests for a heartbeat": subscribe(HEARTBEAT_REQUESTS),
  "receive reports of failed requests": subscribe(FAILURES_SUBJECT),
  "receive confirmations of reports": subscribe("failures.ack.*"),
  "receive anything else: links, clicks, calls of JetStream, everything": subscribe(
    ...words("> * *.> link_log.> link_snapshots.> clicks.> clicks_dlq.> limits.> failures.>"),
    ...words("_INBOX.> _INBOX_operator.> $JS.> $JS.API.> $JS.EVENT.> $JS.ACK.> $SYS.>"),
    ...words("$KV.> $O.>"),
  ),
};

const LINKS = [LINK_LOG_STREAM, SNAPSHOTS_STREAM];
const CLICKS = [CLICKS_STREAM];
const DEAD_LETTERS = [DEAD_LETTERS_STREAM];
const LIMITS = [LIMITS_STREAM];
const STREAMS = [...LINKS, ...CLICKS, ...DEAD_LETTERS, ...LIMITS];

/** Calls about streams, e.g. `STREAM.INFO`; what follows a space are further tokens. */
const calls = (streams: readonly string[], ...names: string[]): string[] =>
  streams.flatMap((stream) =>
    names.map((name) => {
      const [call = "", rest] = name.split(" ");
      return `publish $JS.API.${call}.${stream}${rest === undefined ? "" : `.${rest}`}`;
    }),
  );

const OWN_CONSUMER = `${CLICKS_STREAM}.${CLICKS_WORKER}`;

/** Calls of JetStream about each stream. */
const CALLS = {
  "ask whether JetStream is enabled": publish("$JS.API.INFO"),
  "`LINK_LOG`, `LINK_SNAPSHOTS`: read single messages": calls(LINKS, "STREAM.MSG.GET"),
  "`LINK_LOG`, `LINK_SNAPSHOTS`: follow": calls(
    LINKS,
    "CONSUMER.CREATE",
    "CONSUMER.CREATE 1",
    "CONSUMER.MSG.NEXT 1",
  ),
  "`LINK_LOG`, `LINK_SNAPSHOTS`: state and settings": calls(LINKS, "STREAM.INFO"),
  "`LINK_LOG`, `LINK_SNAPSHOTS`: create, and delete what is old": calls(
    LINKS,
    "STREAM.CREATE",
    "STREAM.PURGE",
  ),
  "`CLICKS`: state and settings": calls(CLICKS, "STREAM.INFO"),
  "`CLICKS`: create": calls(CLICKS, "STREAM.CREATE"),
  "`CLICKS`: read single messages": calls(CLICKS, "STREAM.MSG.GET"),
  "`CLICKS`: state of the workers' consumer": publish(`$JS.API.CONSUMER.INFO.${OWN_CONSUMER}`),
  "`CLICKS`: consume and acknowledge, create and delete the consumer": publish(
    `$JS.API.CONSUMER.DURABLE.CREATE.${OWN_CONSUMER}`,
    `$JS.API.CONSUMER.CREATE.${OWN_CONSUMER}`,
    `$JS.API.CONSUMER.MSG.NEXT.${OWN_CONSUMER}`,
    `$JS.ACK.${OWN_CONSUMER}.1.1.1.1.1`,
    `$JS.API.CONSUMER.DELETE.${OWN_CONSUMER}`,
  ),
  "`CLICKS`: purge": calls(CLICKS, "STREAM.PURGE"),
  "`CLICKS_DLQ`: state and settings": calls(DEAD_LETTERS, "STREAM.INFO"),
  "`CLICKS_DLQ`: create": calls(DEAD_LETTERS, "STREAM.CREATE"),
  "`CLICKS_DLQ`: read and delete single messages": calls(
    DEAD_LETTERS,
    "STREAM.MSG.GET",
    "STREAM.MSG.DELETE",
  ),
  "`LIMITS`: read messages": calls(LIMITS, "STREAM.MSG.GET"),
  "`LIMITS`: state and settings": calls(LIMITS, "STREAM.INFO"),
  "`LIMITS`: create": calls(LIMITS, "STREAM.CREATE"),
  "`CLICKS`, `LIMITS`: delete single messages": calls([...CLICKS, ...LIMITS], "STREAM.MSG.DELETE"),
  "purge or delete a stream or its messages in any other case": [
    ...calls([...DEAD_LETTERS, ...LIMITS], "STREAM.PURGE"),
    ...calls(STREAMS, "STREAM.DELETE"),
    ...calls(LINKS, "STREAM.MSG.DELETE"),
  ],
  "read a stream by other consumers, or directly": [
    ...calls([...DEAD_LETTERS, ...LIMITS], "CONSUMER.CREATE", "CONSUMER.CREATE 1"),
    ...calls(STREAMS, "CONSUMER.DURABLE.CREATE thief", "CONSUMER.CREATE 1.subject"),
    ...calls(STREAMS, "DIRECT.GET"),
    ...calls(CLICKS, "CONSUMER.CREATE", "CONSUMER.CREATE 1", "CONSUMER.MSG.NEXT 1"),
  ],
  "delete or stop another's consumer": calls(
    STREAMS,
    "CONSUMER.DELETE thief",
    "CONSUMER.PAUSE worker",
    "CONSUMER.LEADER.STEPDOWN worker",
  ),
  "change a stream, copy it out or in, move it": calls(
    STREAMS,
    ...words("STREAM.UPDATE STREAM.SNAPSHOT STREAM.RESTORE"),
    ...words("STREAM.PEER.REMOVE STREAM.LEADER.STEPDOWN"),
  ),
  "create another stream or bucket": calls(
    ["OTHER", "KV_other", "OBJ_other"],
    "STREAM.CREATE",
    "STREAM.TEMPLATE.CREATE",
  ),
  "list streams and consumers": [
    ...publish(...words("$JS.API.STREAM.LIST $JS.API.STREAM.NAMES")),
    ...calls(STREAMS, "CONSUMER.LIST", "CONSUMER.NAMES"),
    ...calls([...LINKS, ...DEAD_LETTERS, ...LIMITS], "CONSUMER.INFO 1"),
  ],
  "move leaders, remove servers, purge the account": publish(
    ...words("$JS.API.META.LEADER.STEPDOWN $JS.API.SERVER.REMOVE"),
    ...words("$JS.API.ACCOUNT.PURGE.G $JS.API.ACCOUNT.STREAM.MOVE.G.LINK_LOG"),
  ),
};

/** Users of worker and API do not exist in a far region; the user `operator` may do everything. */
export const NATS_RIGHTS: readonly Right[] = [
  ...readRights("### Messages", NATS_USERS, MESSAGES),
  ...readRights("### Calls of JetStream", NATS_USERS, CALLS),
];
