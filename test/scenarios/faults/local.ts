/** The faults of a local stack: of each process, each store, and each point of a batch. */
import type { Traffic } from "../loads/traffic.ts";
import type { Fault, RunSettings } from "../parts.ts";
import type { LocalStack } from "../topologies/local-stack.ts";
import {
  killOwner,
  killOwnerOfHalfInsert,
  pauseOwner,
  pauseOwnerBeforeCheck,
  publishPoison,
  recreateStreamDuringInsert,
  rollBackNatsDuringInsert,
} from "./batches.ts";
import { disturbClickHouse, fillStream, killService, pauseNats, rollBackNats } from "./services.ts";

/** How clicks get into the stream, through it, and into ClickHouse. */
const PUBLISHING = ["redirector/journal/", "shared/contracts/streams.ts", "shared/nats.ts"];
const CONSUMING = ["worker/consumer/"];
const BATCHES = ["worker/batches/"];
const STORING = ["worker/batches/clicks-table.ts", "worker/clickhouse.ts", "worker/migrations/"];

/** Longest durations: of a pause of NATS, and of what it forgets during an insert. */
const pauseMs = ({ long }: RunSettings): number => (long ? 90_000 : 8_000);
const forgottenMs = ({ long }: RunSettings): number => (long ? 120_000 : 10_000);

type LocalFault = Fault<LocalStack, Traffic>;

const disturb =
  (mode: "error" | "lose_response"): LocalFault["inject"] =>
  ({ topology, random }) =>
    disturbClickHouse(topology.lossy, mode, random.between(1_000, 3_000));

/**
 * Each process and each store ends once, and what protects clicks then is needed once: the journal
 * is replayed (a redirector), a relay goes on (the API), segments are delivered again (a worker),
 * statements are repeated (ClickHouse, PostgreSQL). NATS comes back older than it was, for which
 * the redirectors publish again what they retain, and the stream takes nothing twice. Two owners of
 * a batch die around its insert: one leaves a manifest in doubt and an insert that arrives later,
 * the other one rollups without the clicks.
 */
const ALWAYS: readonly LocalFault[] = [
  {
    name: "kill redirector",
    inject: ({ topology: { stack }, load }) =>
      load.redirects.whileRestarting(() => killService(stack, "redirector")),
  },
  { name: "kill api", inject: ({ topology: { stack } }) => killService(stack, "api") },
  { name: "kill worker", inject: ({ topology: { stack } }) => killService(stack, "worker") },
  {
    name: "kill clickhouse",
    inject: ({ topology: { stack } }) => killService(stack, "clickhouse"),
  },
  { name: "kill postgres", inject: ({ topology: { stack } }) => killService(stack, "postgres") },
  {
    name: "roll back nats",
    async inject({ topology, random }) {
      await topology.spaceNatsEnds();
      await rollBackNats(topology.stack, random.between(2_000, 4_000));
    },
  },
  {
    name: "kill owner before insert, which arrives late",
    inject: ({ topology }) => killOwner(topology, "insert", "before", "late"),
  },
  {
    name: "kill owner of half an insert",
    inject: ({ topology }) => killOwnerOfHalfInsert(topology),
  },
];

/** All others vary these, in time or in what follows; and what they exercise beyond them. */
const VARIATIONS: readonly LocalFault[] = [
  {
    // Behind a worker that stores through a proxy: what it has to replay is stored by another.
    name: "kill second redirector",
    exercises: ["redirector/journal/"],
    inject: ({ topology: { redirector }, load }) =>
      load.redirects.whileRestarting(() => redirector.kill()),
  },
  {
    name: "kill second worker",
    exercises: [...CONSUMING, "worker/batches/election.ts"],
    inject: ({ topology: { worker } }) => worker.kill(),
  },
  {
    name: "kill nats",
    exercises: [...PUBLISHING, "redirector/links/", ...CONSUMING],
    async inject({ topology }) {
      await topology.spaceNatsEnds();
      await killService(topology.stack, "nats");
    },
  },
  {
    name: "pause nats",
    exercises: [...PUBLISHING, "redirector/links/", ...CONSUMING],
    inject: ({ topology: { stack }, random, settings }) =>
      pauseNats(stack, random.between(1_000, pauseMs(settings))),
  },
  {
    name: "roll back nats, not its consumers",
    exercises: [...PUBLISHING, ...CONSUMING, "worker/batches/"],
    async inject({ topology, random }) {
      await topology.spaceNatsEnds();
      await rollBackNats(topology.stack, random.between(2_000, 4_000), "consumers");
    },
  },
  {
    name: "fill stream",
    exercises: [...PUBLISHING, "worker/consumer/clicks-stream.ts"],
    inject: ({ topology: { stack }, random }) => fillStream(stack, random.between(1_000, 3_000)),
  },
  { name: "clickhouse fails", exercises: [...BATCHES, ...STORING], inject: disturb("error") },
  {
    name: "clickhouse loses responses",
    exercises: [...BATCHES, ...STORING],
    inject: disturb("lose_response"),
  },
  {
    name: "kill owner before manifest",
    exercises: [...CONSUMING, ...BATCHES],
    inject: ({ topology }) => killOwner(topology, "manifest", "before"),
  },
  {
    name: "kill owner after manifest",
    exercises: [...CONSUMING, ...BATCHES],
    inject: ({ topology }) => killOwner(topology, "manifest", "after"),
  },
  {
    name: "kill owner after insert",
    exercises: [...CONSUMING, ...BATCHES, ...STORING],
    inject: ({ topology }) => killOwner(topology, "insert", "after"),
  },
  {
    name: "pause owner before manifest",
    exercises: [...CONSUMING, ...BATCHES],
    inject: ({ topology }) => pauseOwner(topology, "manifest", "before"),
  },
  {
    name: "pause owner before check",
    exercises: [...CONSUMING, ...BATCHES],
    inject: ({ topology }) => pauseOwnerBeforeCheck(topology),
  },
  {
    name: "pause owner before insert",
    exercises: [...CONSUMING, ...BATCHES],
    inject: ({ topology }) => pauseOwner(topology, "insert", "before"),
  },
  {
    name: "pause owner after insert",
    exercises: [...CONSUMING, ...BATCHES, ...STORING],
    inject: ({ topology }) => pauseOwner(topology, "insert", "after"),
  },
  {
    name: "roll back nats during an insert",
    exercises: [...PUBLISHING, ...CONSUMING, ...BATCHES],
    async inject({ topology, random, settings }) {
      await topology.spaceNatsEnds();
      const longest = forgottenMs(settings);
      await rollBackNatsDuringInsert(topology, random.between(longest - 2_000, longest));
    },
  },
  {
    name: "recreate stream during an insert",
    exercises: [...PUBLISHING, ...CONSUMING, ...BATCHES],
    async inject({ topology, load }) {
      await topology.spaceNatsEnds();
      await recreateStreamDuringInsert(topology, load.redirects);
    },
  },
  {
    name: "publish poison",
    exercises: [
      ...CONSUMING,
      ...BATCHES,
      ...STORING,
      "shared/contracts/click-record.ts",
      "shared/contracts/click-segment.ts",
    ],
    inject: ({ topology, load }) => publishPoison(topology, load.redirects),
  },
];

export const LOCAL_FAULTS: readonly LocalFault[] = [
  ...ALWAYS,
  ...VARIATIONS.map((fault) => ({ ...fault, isOnlyForChanges: true })),
];
