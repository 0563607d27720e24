/**
 * What may cross between a far region and the hub: the permissions of the user `region`
 * (deploy/nats/hub.conf).
 */
import { FAILURES_SUBJECT, failuresAckSubject } from "../../shared/contracts/failures.ts";
import { newUuid } from "../../shared/ids.ts";
import { manifestSubject, SNAPSHOT_REQUESTS } from "../../shared/links-log/snapshots.ts";
import { HEARTBEAT_REQUESTS, LINK_LOG_SUBJECT } from "../../shared/links-log/tail.ts";
import { type Right, words } from "./rights.ts";

/** The direction in which a message crosses. */
export const DIRECTIONS = ["to the hub", "to the region"] as const;

type Direction = (typeof DIRECTIONS)[number];

export type RegionRight = Right<Direction> & { subjects: readonly string[] };

/** The domain of the far region of the tests. */
export const FAR = "far";

/** The last message of a direction: when it has arrived, so has all that crosses before it. */
export const LAST: Record<Direction, string> = {
  "to the hub": FAILURES_SUBJECT,
  "to the region": failuresAckSubject(newUuid()),
};

/** Calls of JetStream in the other region. */
const inHub = (...calls: string[]): string[] => calls.map((call) => `$JS.hub.API.${call}`);
const inRegion = (...calls: string[]): string[] => calls.map((call) => `$JS.${FAR}.API.${call}`);

export const REGION_RIGHTS: readonly RegionRight[] = [
  {
    what: "reports of failed requests",
    subjects: [LAST["to the hub"]],
    may: ["to the hub"],
    why: "workers are in the hub",
  },
  {
    what: "confirmations of reports",
    subjects: [LAST["to the region"]],
    may: ["to the region"],
    why: "redirectors wait for them",
  },
  {
    what: "follow `LINK_LOG` and `LINK_SNAPSHOTS` of the hub",
    subjects: inHub("CONSUMER.CREATE.LINK_LOG", "CONSUMER.CREATE.LINK_SNAPSHOTS"),
    may: ["to the hub"],
    why: "the region has mirrors of them",
  },
  {
    what: "requests for a snapshot",
    subjects: [SNAPSHOT_REQUESTS],
    may: ["to the hub"],
    why: "the API makes them; one a minute at most",
  },
  {
    what: "requests for a heartbeat",
    subjects: [HEARTBEAT_REQUESTS],
    may: ["to the hub"],
    why: "a host that begins to follow; the API publishes some a second at most",
  },
  {
    what: "follow `CLICKS` of the region",
    subjects: inRegion("CONSUMER.CREATE.CLICKS"),
    may: ["to the region"],
    why: "the hub takes the segments from there",
  },
  {
    what: "messages of the region's `CLICKS`, and the pace of the hub's links",
    subjects: ["$JS.S.1", "$JS.FC.LINK_LOG.1", "$JS.FC.LINK_SNAPSHOTS.1"],
    may: ["to the hub"],
    why: "JetStream's own, of a source and of a mirror: whoever has the region's server can forge clicks",
  },
  {
    what: "messages of the hub's links, and the pace of the region's `CLICKS`",
    subjects: ["$JS.M.1", "$JS.FC.CLICKS.1"],
    may: ["to the region"],
    why: "JetStream's own, of a mirror and of a source",
  },
  {
    what: "replies between JetStream's servers",
    subjects: ["$JSC.R.1"],
    may: DIRECTIONS,
    why: "to the calls above",
  },
  {
    what: "links, snapshots, clicks, ledgers, dead letters",
    subjects: [
      LINK_LOG_SUBJECT,
      manifestSubject("victim"),
      ...words("clicks.segment limits.victim clicks_dlq.segment"),
    ],
    may: [],
    why: "",
  },
  {
    what: "requests for the status, and replies to users",
    subjects: ["shorthop.status", "_INBOX_api.1.1", "_INBOX_operator.1.1", "_INBOX_worker.1"],
    may: [],
    why: "",
  },
  {
    what: "any other call of JetStream about streams",
    subjects: [
      ...inHub("STREAM.PURGE.CLICKS", "STREAM.DELETE.LINK_LOG", "STREAM.UPDATE.LINK_LOG"),
      ...inHub(
        "STREAM.INFO.LINK_LOG",
        "STREAM.MSG.GET.LINK_LOG",
        "DIRECT.GET.LINK_LOG",
        "STREAM.CREATE.OTHER",
      ),
      ...inHub("CONSUMER.CREATE.CLICKS", "CONSUMER.DELETE.CLICKS.worker", "CONSUMER.LIST.LINK_LOG"),
      ...inRegion("STREAM.PURGE.LINK_LOG", "STREAM.DELETE.CLICKS", "STREAM.MSG.GET.CLICKS"),
      ...inRegion("STREAM.UPDATE.LINK_LOG", "DIRECT.GET.LINK_LOG", "STREAM.INFO.CLICKS"),
    ],
    may: [],
    why: "",
  },
  {
    what: "anything else: buckets, subjects of the server",
    subjects: ["$KV.bucket.key", "$SYS.REQ.SERVER.PING", "$JS.EVENT.ADVISORY.API", "other"],
    may: [],
    why: "",
  },
];
