/** The kinds of faults that the chaos test chooses from. */
import type { Random } from "../harness/random.ts";
import { disturbClickHouse, fillStream, killService, pauseNats, rollBackNats } from "./faults.ts";
import {
  killOwner,
  killOwnerOfHalfInsert,
  pauseOwner,
  pauseOwnerBeforeCheck,
  publishPoison,
  recreateStreamDuringInsert,
  rollBackNatsDuringInsert,
} from "./owner-faults.ts";
import type { Targets } from "./targets.ts";

/** Longest durations. */
export type Durations = {
  /** Pause of NATS. */
  pauseMs: number;
  /** What NATS forgets during an insert. */
  setBackMs: number;
};

type Fault = (targets: Targets, random: Random, durations: Durations) => Promise<void>;

export const KINDS = {
  "kill redirector": ({ stack, restart }) => restart(() => killService(stack, "redirector")),
  "kill second redirector": ({ redirector, restart }) => restart(redirector.kill),
  "kill worker": ({ stack }) => killService(stack, "worker"),
  "kill second worker": ({ worker }) => worker.kill(),
  "kill api": ({ stack }) => killService(stack, "api"),
  "kill nats": ({ stack }) => killService(stack, "nats"),
  "kill clickhouse": ({ stack }) => killService(stack, "clickhouse"),
  "kill postgres": ({ stack }) => killService(stack, "postgres"),
  "pause nats": ({ stack }, random, { pauseMs }) =>
    pauseNats(stack, random.between(1_000, pauseMs)),
  "roll back nats": ({ stack }, random) => rollBackNats(stack, random.between(2_000, 4_000)),
  "roll back nats, not its consumers": ({ stack }, random) =>
    rollBackNats(stack, random.between(2_000, 4_000), "consumers"),
  "fill stream": ({ stack }, random) => fillStream(stack, random.between(1_000, 3_000)),
  "clickhouse fails": ({ lossy }, random) =>
    disturbClickHouse(lossy, "error", random.between(1_000, 3_000)),
  "clickhouse loses responses": ({ lossy }, random) =>
    disturbClickHouse(lossy, "lose_response", random.between(1_000, 3_000)),
  "kill owner before manifest": (targets) => killOwner(targets, "manifest", "before"),
  "kill owner after manifest": (targets) => killOwner(targets, "manifest", "after"),
  "kill owner before insert, which arrives late": (targets) =>
    killOwner(targets, "insert", "before", "late"),
  "kill owner after insert": (targets) => killOwner(targets, "insert", "after"),
  "kill owner of half an insert": killOwnerOfHalfInsert,
  "pause owner before manifest": (targets) => pauseOwner(targets, "manifest", "before"),
  "pause owner before check": pauseOwnerBeforeCheck,
  "pause owner before insert": (targets) => pauseOwner(targets, "insert", "before"),
  "pause owner after insert": (targets) => pauseOwner(targets, "insert", "after"),
  "roll back nats during an insert": (targets, random, { setBackMs }) =>
    rollBackNatsDuringInsert(targets, random.between(setBackMs - 2_000, setBackMs)),
  "recreate stream during an insert": recreateStreamDuringInsert,
  "publish poison": publishPoison,
} satisfies Record<string, Fault>;

export type Kind = keyof typeof KINDS;

/** Kinds that end NATS. The local stack stops if a service ends five times within a minute. */
export const ENDS_NATS: ReadonlySet<string> = new Set<Kind>([
  "kill nats",
  "roll back nats",
  "roll back nats, not its consumers",
  "roll back nats during an insert",
  "recreate stream during an insert",
]);
