/** Which calls of JetStream's API each user of deploy/nats may send, about each stream. */
import {
  CLICKS_STREAM,
  CLICKS_WORKER,
  DEAD_LETTERS_STREAM,
  LIMITS_STREAM,
} from "../../shared/contracts/streams.ts";
import { SNAPSHOTS_STREAM } from "../../shared/links-log/snapshots.ts";
import { LINK_LOG_STREAM } from "../../shared/links-log/tail.ts";
import {
  MESSAGES,
  NATS_USERS,
  type NatsRight,
  NOBODY,
  publish,
  REDIRECTORS,
} from "./nats-rights.ts";
import { words } from "./rights.ts";

const LINKS = [LINK_LOG_STREAM, SNAPSHOTS_STREAM];
const CLICKS = [CLICKS_STREAM];
const DEAD_LETTERS = [DEAD_LETTERS_STREAM];
const LIMITS = [LIMITS_STREAM];
const STREAMS = [...LINKS, ...CLICKS, ...DEAD_LETTERS, ...LIMITS];

/** Calls of JetStream's API about streams, e.g. `STREAM.INFO`; `rest` are further tokens. */
const calls = (streams: readonly string[], ...names: string[]): string[] =>
  streams.flatMap((stream) =>
    names.map((name) => {
      const [call = "", rest] = name.split(" ");
      return `$JS.API.${call}.${stream}${rest === undefined ? "" : `.${rest}`}`;
    }),
  );

const OWN_CONSUMER = `${CLICKS_STREAM}.${CLICKS_WORKER}`;

/** Calls of JetStream about each stream. */
export const CALLS: readonly NatsRight[] = [
  publish("ask whether JetStream is enabled", ["$JS.API.INFO"], NATS_USERS, "at each connection"),
  publish(
    "`LINK_LOG`, `LINK_SNAPSHOTS`: read single messages",
    calls(LINKS, "STREAM.MSG.GET"),
    [...REDIRECTORS, "api"],
    "the last entry, and which snapshots there are",
  ),
  publish(
    "`LINK_LOG`, `LINK_SNAPSHOTS`: follow",
    calls(LINKS, "CONSUMER.CREATE", "CONSUMER.CREATE 1", "CONSUMER.MSG.NEXT 1"),
    REDIRECTORS,
    "every link is in the store of their host",
  ),
  publish(
    "`LINK_LOG`, `LINK_SNAPSHOTS`: state and settings",
    calls(LINKS, "STREAM.INFO"),
    [...REDIRECTORS, "api"],
    "where the tail ends, and which snapshots there are",
  ),
  publish(
    "`LINK_LOG`, `LINK_SNAPSHOTS`: create, and delete what is old",
    calls(LINKS, "STREAM.CREATE", "STREAM.PURGE"),
    ["api"],
    "it publishes all of it; an existing stream does not change. In a far region they must be mirrors",
  ),
  publish(
    "`CLICKS`: state and settings",
    calls(CLICKS, "STREAM.INFO"),
    [...REDIRECTORS, "worker", "api"],
    "whether it may lose clicks; `shorthop reconcile` and `doctor`",
  ),
  publish(
    "`CLICKS`: create",
    calls(CLICKS, "STREAM.CREATE"),
    ["redirector", "worker"],
    "whichever starts first; an existing stream does not change",
  ),
  publish(
    "`CLICKS`: read single messages",
    calls(CLICKS, "STREAM.MSG.GET"),
    ["api"],
    "whether NATS returns what it accepts; `shorthop reconcile`, as the API's user",
  ),
  publish(
    "`CLICKS`: state of the workers' consumer",
    [`$JS.API.CONSUMER.INFO.${OWN_CONSUMER}`],
    ["worker", "api"],
    "how far clicks are stored",
  ),
  publish(
    "`CLICKS`: consume and acknowledge, create and delete the consumer",
    [
      `$JS.API.CONSUMER.DURABLE.CREATE.${OWN_CONSUMER}`,
      `$JS.API.CONSUMER.MSG.NEXT.${OWN_CONSUMER}`,
      `$JS.ACK.${OWN_CONSUMER}.1.1.1.1.1`,
      ...calls(CLICKS, "CONSUMER.CREATE 1", "CONSUMER.INFO 1", "CONSUMER.MSG.NEXT 1"),
      `$JS.API.CONSUMER.DELETE.${OWN_CONSUMER}`,
    ],
    ["worker"],
    "it stores clicks, and begins again where ClickHouse was restored to",
  ),
  publish(
    "`CLICKS`: purge",
    calls(CLICKS, "STREAM.PURGE"),
    ["worker"],
    "it deletes what it has stored from a stream that gets full",
  ),
  publish(
    "`CLICKS_DLQ`: state and settings",
    calls(DEAD_LETTERS, "STREAM.INFO"),
    ["worker", "api"],
    "`shorthop dlq list`",
  ),
  publish("`CLICKS_DLQ`: create", calls(DEAD_LETTERS, "STREAM.CREATE"), ["worker"], "at its start"),
  publish(
    "`CLICKS_DLQ`: read and delete single messages",
    calls(DEAD_LETTERS, "STREAM.MSG.GET", "STREAM.MSG.DELETE"),
    ["api"],
    "`shorthop dlq`, as the API's user",
  ),
  publish(
    "`LIMITS`: read messages",
    calls(LIMITS, "STREAM.MSG.GET"),
    [...REDIRECTORS, "api"],
    "ledgers; the API shows how many clicks are left",
  ),
  publish(
    "`LIMITS`: state and settings",
    calls(LIMITS, "STREAM.INFO"),
    REDIRECTORS,
    "whether it was rolled back",
  ),
  publish(
    "`LIMITS`: create",
    calls(LIMITS, "STREAM.CREATE"),
    ["redirector"],
    "at its start; an existing stream does not change",
  ),
  publish(
    "`CLICKS`, `LIMITS`: delete single messages",
    calls([...CLICKS, ...LIMITS], "STREAM.MSG.DELETE"),
    ["api"],
    "`shorthop accounts erase`, as the API's user",
  ),
  publish(
    "purge or delete a stream or its messages in any other case",
    [
      ...calls([...DEAD_LETTERS, ...LIMITS], "STREAM.PURGE"),
      ...calls(STREAMS, "STREAM.DELETE"),
      ...calls(LINKS, "STREAM.MSG.DELETE"),
    ],
    NOBODY,
  ),
  publish(
    "read a stream by other consumers, or directly",
    [
      ...calls([...DEAD_LETTERS, ...LIMITS], "CONSUMER.CREATE", "CONSUMER.CREATE 1"),
      ...calls(STREAMS, "CONSUMER.DURABLE.CREATE thief", "CONSUMER.CREATE 1.subject"),
      ...calls(STREAMS, "DIRECT.GET"),
      ...calls(CLICKS, "CONSUMER.CREATE"),
    ],
    NOBODY,
  ),
  publish(
    "delete or stop another's consumer",
    [
      ...calls(STREAMS, "CONSUMER.DELETE thief", "CONSUMER.PAUSE worker"),
      ...calls(STREAMS, "CONSUMER.LEADER.STEPDOWN worker"),
    ],
    NOBODY,
  ),
  publish(
    "change a stream, copy it out or in, move it",
    calls(
      STREAMS,
      ...words("STREAM.UPDATE STREAM.SNAPSHOT STREAM.RESTORE"),
      ...words("STREAM.PEER.REMOVE STREAM.LEADER.STEPDOWN"),
    ),
    NOBODY,
  ),
  publish(
    "create another stream or bucket",
    calls(["OTHER", "KV_other", "OBJ_other"], "STREAM.CREATE", "STREAM.TEMPLATE.CREATE"),
    NOBODY,
  ),
  publish(
    "list streams and consumers",
    [
      ...words("$JS.API.STREAM.LIST $JS.API.STREAM.NAMES"),
      ...calls(STREAMS, "CONSUMER.LIST", "CONSUMER.NAMES"),
      ...calls([...LINKS, ...DEAD_LETTERS, ...LIMITS], "CONSUMER.INFO 1"),
    ],
    NOBODY,
  ),
  publish(
    "move leaders, remove servers, purge the account",
    [
      ...words("$JS.API.META.LEADER.STEPDOWN $JS.API.SERVER.REMOVE"),
      ...words("$JS.API.ACCOUNT.PURGE.G $JS.API.ACCOUNT.STREAM.MOVE.G.LINK_LOG"),
    ],
    NOBODY,
  ),
];

export const NATS_RIGHTS: readonly NatsRight[] = [...MESSAGES, ...CALLS];
