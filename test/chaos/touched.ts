/** Which kinds of faults the scenario injects: a few always, and those that a change can touch. */
import { type Kind, KINDS } from "./kinds.ts";

/**
 * Each process and each store ends once, and what protects clicks then is needed once: the journal
 * is replayed (a redirector), a relay goes on (the API), segments are delivered again (a worker),
 * statements are repeated (ClickHouse, PostgreSQL). NATS comes back older than it was, for which
 * the redirectors publish again what they retain, and the stream takes nothing twice. Two owners of
 * a batch die around its insert: one leaves a manifest in doubt and an insert that arrives later,
 * the other one rollups without the clicks. All other kinds vary these, in time or in what follows.
 */
export const ALWAYS = [
  "kill redirector",
  "kill api",
  "kill worker",
  "kill clickhouse",
  "kill postgres",
  "roll back nats",
  "kill owner before insert, which arrives late",
  "kill owner of half an insert",
] as const satisfies readonly Kind[];

/** How clicks get into the stream, through it, and into ClickHouse. */
const PUBLISHING = ["redirector/journal/", "shared/contracts/streams.ts", "shared/nats.ts"];
const CONSUMING = ["worker/consumer/"];
const BATCHES = ["worker/batches/"];
const STORING = ["worker/batches/clicks-table.ts", "worker/clickhouse.ts", "worker/migrations/"];

/**
 * What each further kind exercises, beyond what the others always do: files, and folders that end
 * in a slash.
 */
export const EXERCISED: Record<Exclude<Kind, (typeof ALWAYS)[number]>, readonly string[]> = {
  // As the first one, but behind a worker that stores through a proxy: what it has to replay is
  // stored by another.
  "kill second redirector": ["redirector/journal/"],
  "kill second worker": [...CONSUMING, "worker/batches/election.ts"],
  "kill nats": [...PUBLISHING, "redirector/links/", ...CONSUMING],
  "pause nats": [...PUBLISHING, "redirector/links/", ...CONSUMING],
  "roll back nats, not its consumers": [...PUBLISHING, ...CONSUMING, "worker/batches/"],
  "fill stream": [...PUBLISHING, "worker/consumer/clicks-stream.ts"],
  "clickhouse fails": [...BATCHES, ...STORING],
  "clickhouse loses responses": [...BATCHES, ...STORING],
  "kill owner before manifest": [...CONSUMING, ...BATCHES],
  "kill owner after manifest": [...CONSUMING, ...BATCHES],
  "kill owner after insert": [...CONSUMING, ...BATCHES, ...STORING],
  "pause owner before manifest": [...CONSUMING, ...BATCHES],
  "pause owner before check": [...CONSUMING, ...BATCHES],
  "pause owner before insert": [...CONSUMING, ...BATCHES],
  "pause owner after insert": [...CONSUMING, ...BATCHES, ...STORING],
  "roll back nats during an insert": [...PUBLISHING, ...CONSUMING, ...BATCHES],
  "recreate stream during an insert": [...PUBLISHING, ...CONSUMING, ...BATCHES],
  "publish poison": [
    ...CONSUMING,
    ...BATCHES,
    ...STORING,
    "shared/contracts/click-record.ts",
    "shared/contracts/click-segment.ts",
  ],
};

/** A change of the test itself touches every kind. */
const TEST = "test/chaos/";

const isIn = (path: string, place: string): boolean =>
  place.endsWith("/") ? path.startsWith(place) : path === place;

/**
 * The kinds, beyond {@link ALWAYS}, that a change of these files can touch; paths begin at the
 * project's folder.
 */
export function kindsTouchedBy(changedPaths: readonly string[]): Kind[] {
  const exercised = new Map<string, readonly string[]>(Object.entries(EXERCISED));
  return (Object.keys(KINDS) as Kind[]).filter((kind) =>
    exercised
      .get(kind)
      ?.concat(TEST)
      .some((place) => changedPaths.some((path) => isIn(path, place))),
  );
}
