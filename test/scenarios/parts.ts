/**
 * What a scenario is made of: a topology, a load, faults that are injected one after the other, and
 * checks of what must be so afterwards. Each part is written once, and a row names the parts, their
 * sizes, the time that it takes, and the paths whose change can break what it proves.
 */
import type { Random } from "../harness/random.ts";
import type { Topology } from "./topologies/topology.ts";

/** How a scenario is run: by the command line, or by another scenario's row. */
export type RunSettings = {
  seed: number;
  /** The long form: more links, more faults, longer. */
  long: boolean;
  /** Least number of faults; without it each once. */
  rounds?: number | undefined;
  /** Parts of the names of the faults that are injected. */
  faults?: readonly string[] | undefined;
  /** Of a scenario with numbered inputs, only these. */
  only?: readonly number[] | undefined;
  /** The nats-server of the next Debian. */
  later: boolean;
  /** Paths that have changed; faults that exercise them are injected as well. */
  changed: readonly string[];
  /** A problem after which nothing more is checked, as it is the one that was to be shown. */
  expected?: RegExp | undefined;
  log: (line: string) => void;
};

/** What a scenario found: nothing but notes, if all is as promised. */
export type Result = {
  name: string;
  seed: number;
  /** What is not as promised, each after the name of the fault or the check. */
  problems: string[];
  /** What was measured. */
  notes: string[];
  /** The folder with what was kept of a failed run. */
  evidence?: string;
};

/** What runs beside the faults. */
export interface Load extends AsyncDisposable {
  /** Injects a fault while it runs. */
  during(fault: string, inject: () => Promise<void>): Promise<void>;
  /** Ends it, and waits for the last responses. */
  stop(): Promise<void>;
  /** Number of requests of visitors. */
  readonly sent: number;
}

/** What a fault or a check acts on. */
export type Run<T, L> = { topology: T; load: L; random: Random; settings: RunSettings };

export type Fault<T, L> = {
  name: string;
  /** Files, and folders that end in a slash, whose change makes it one of the short form. */
  exercises?: readonly string[];
  /** Whether the short form injects it only for what it exercises. */
  isOnlyForChanges?: boolean;
  /** Brings it about, and ends it. */
  inject(run: Run<T, L>): Promise<unknown>;
};

export type Check<T, L> = {
  name: string;
  /** Throws when it does not hold; returns what it measured, for the log. */
  verify(run: Run<T, L>): Promise<string | void>;
};

/** What tells the runner when to run a scenario. */
export type Row = {
  name: string;
  /** How long the short form took, on a quiet machine. */
  seconds: number;
  /** Of the scenarios that a change selects, it runs after the others. */
  isLast?: boolean;
  /** Globs of what, when it changes, can break what it proves. */
  paths: readonly string[];
  proves: string;
  /** Why it cannot run on this machine; undefined if it can. */
  lacks?: () => string | undefined;
};

/** A row, and its parts. */
export type Parts<T extends Topology, L extends Load> = Row & {
  topology(settings: RunSettings): Promise<T>;
  load(topology: T, settings: RunSettings): Promise<L>;
  faults: readonly Fault<T, L>[];
  /** Whether faults come in the order of the row. */
  inOrder?: boolean;
  /** Requests of visitors before which the long form does not end. */
  sentMin?: number;
  /** Faults of the long form, at least. */
  roundsLong?: number;
  checks: readonly Check<T, L>[];
};
