/** The faults of a local stack: of each process, each store, and each point of a batch. */
import { killService, type ServiceName } from "../../harness/services.ts";
import type { Traffic } from "../loads/traffic.ts";
import type { Fault, RunSettings } from "../parts.ts";
import type { LocalStack } from "../topologies/local-stack.ts";
import {
  killOwner,
  killOwnerOfHalfInsert,
  pauseOwner,
  pauseOwnerBeforeCheck,
  type Point,
  publishPoison,
  recreateStreamDuringInsert,
  rollBackNatsDuringInsert,
} from "./batches.ts";
import { disturbClickHouse, fillStream, pauseNats, rollBackNats } from "./services.ts";

/** How clicks get into the stream, through it, and into ClickHouse. */
const PUBLISHING = ["redirector/journal/", "shared/contracts/streams.ts", "shared/nats.ts"];
const CONSUMING = ["worker/consumer/"];
const BATCHES = ["worker/batches/"];
const STORING = ["worker/batches/clicks-table.ts", "worker/clickhouse.ts", "worker/migrations/"];
const OWNING = [...CONSUMING, ...BATCHES];
const INSERTING = [...OWNING, ...STORING];

/** Longest durations: of a pause of NATS, and of what it forgets during an insert. */
const pauseMs = ({ long }: RunSettings): number => (long ? 90_000 : 8_000);
const forgottenMs = ({ long }: RunSettings): number => (long ? 120_000 : 10_000);

type LocalFault = Fault<LocalStack, Traffic>;
type Inject = LocalFault["inject"];

const always = (name: string, inject: Inject): LocalFault => ({ name, inject });

/** One that varies another, in time or in what follows; and what it exercises beyond that. */
const variation = (name: string, exercises: string[], inject: Inject): LocalFault => ({
  name,
  exercises,
  isOnlyForChanges: true,
  inject,
});

const kill =
  (name: ServiceName): Inject =>
  ({ topology }) =>
    killService(topology.stack, name);

const disturb =
  (mode: "error" | "lose_response"): Inject =>
  ({ topology, random }) =>
    disturbClickHouse(topology.lossy, mode, random.between(1_000, 3_000));

/** Faults that end NATS, which the supervisor starts again only so often. */
const endingNats =
  (inject: Inject): Inject =>
  async (run) => {
    await run.topology.spaceNatsEnds();
    await inject(run);
  };

const rollBack = (kept: "nothing" | "consumers"): Inject =>
  endingNats(({ topology, random }) =>
    rollBackNats(topology.stack, random.between(2_000, 4_000), kept),
  );

const killOwnerAt =
  (point: Point, when: "before" | "after", effect?: "late"): Inject =>
  ({ topology }) =>
    killOwner(topology, point, when, effect);

const pauseOwnerAt =
  (point: Point, when: "before" | "after"): Inject =>
  ({ topology }) =>
    pauseOwner(topology, point, when);

/**
 * Each process and each store ends once, and what protects clicks then is needed once: the journal
 * is replayed (a redirector), a relay goes on (the API), segments are delivered again (a worker),
 * statements are repeated (ClickHouse, PostgreSQL). NATS comes back older than it was, for which
 * the redirectors publish again what they retain, and the stream takes nothing twice. Two owners of
 * a batch die around its insert: one leaves a manifest in doubt and an insert that arrives later,
 * the other one rollups without the clicks.
 */
const ALWAYS: readonly LocalFault[] = [
  always("kill redirector", ({ topology: { stack }, load }) =>
    load.redirects.whileRestarting(() => killService(stack, "redirector")),
  ),
  always("kill api", kill("api")),
  always("kill worker", kill("worker")),
  always("kill clickhouse", kill("clickhouse")),
  always("kill postgres", kill("postgres")),
  always("roll back nats", rollBack("nothing")),
  always("kill owner before insert, which arrives late", killOwnerAt("insert", "before", "late")),
  always("kill owner of half an insert", ({ topology }) => killOwnerOfHalfInsert(topology)),
];

const VARIATIONS: readonly LocalFault[] = [
  // Behind a worker that stores through a proxy: what it has to replay is stored by another.
  variation(
    "kill second redirector",
    ["redirector/journal/"],
    ({ topology: { redirector }, load }) => load.redirects.whileRestarting(() => redirector.kill()),
  ),
  variation(
    "kill second worker",
    [...CONSUMING, "worker/batches/election.ts"],
    ({ topology: { worker } }) => worker.kill(),
  ),
  variation(
    "kill nats",
    [...PUBLISHING, "redirector/links/", ...CONSUMING],
    endingNats(kill("nats")),
  ),
  variation(
    "pause nats",
    [...PUBLISHING, "redirector/links/", ...CONSUMING],
    ({ topology: { stack }, random, settings }) =>
      pauseNats(stack, random.between(1_000, pauseMs(settings))),
  ),
  variation("roll back nats, not its consumers", [...PUBLISHING, ...OWNING], rollBack("consumers")),
  variation(
    "fill stream",
    [...PUBLISHING, "worker/consumer/clicks-stream.ts"],
    ({ topology, random }) => fillStream(topology, random.between(1_000, 3_000)),
  ),
  variation("clickhouse fails", [...BATCHES, ...STORING], disturb("error")),
  variation("clickhouse loses responses", [...BATCHES, ...STORING], disturb("lose_response")),
  variation("kill owner before manifest", OWNING, killOwnerAt("manifest", "before")),
  variation("kill owner after manifest", OWNING, killOwnerAt("manifest", "after")),
  variation("kill owner after insert", INSERTING, killOwnerAt("insert", "after")),
  variation("pause owner before manifest", OWNING, pauseOwnerAt("manifest", "before")),
  variation("pause owner before check", OWNING, ({ topology }) => pauseOwnerBeforeCheck(topology)),
  variation("pause owner before insert", OWNING, pauseOwnerAt("insert", "before")),
  variation("pause owner after insert", INSERTING, pauseOwnerAt("insert", "after")),
  variation(
    "roll back nats during an insert",
    [...PUBLISHING, ...OWNING],
    endingNats(({ topology, random, settings }) => {
      const longest = forgottenMs(settings);
      return rollBackNatsDuringInsert(topology, random.between(longest - 2_000, longest));
    }),
  ),
  variation(
    "recreate stream during an insert",
    [...PUBLISHING, ...OWNING],
    endingNats(({ topology, load }) => recreateStreamDuringInsert(topology, load.redirects)),
  ),
  variation(
    "publish poison",
    [...INSERTING, "shared/contracts/click-record.ts", "shared/contracts/click-segment.ts"],
    ({ topology, load }) => publishPoison(topology, load.redirects),
  ),
];

export const LOCAL_FAULTS: readonly LocalFault[] = [...ALWAYS, ...VARIATIONS];
