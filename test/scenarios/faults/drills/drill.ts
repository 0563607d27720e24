/** A drill: what comes back, in which state, and what is promised then. */
import type { TwoHosts } from "../../topologies/two-hosts.ts";

const SUBJECTS = [
  "PostgreSQL",
  "NATS",
  "ClickHouse",
  "links store",
  "journal",
  "GeoIP file",
  "api",
  "redirector",
  "worker",
] as const;

export type Subject = (typeof SUBJECTS)[number];

const CONDITIONS = [
  "older copy",
  "empty",
  "disk full",
  "read-only",
  "one bit flipped",
  "clock an hour ahead",
  "clock an hour behind",
  "paused for a minute",
  "away longer than every retention",
] as const;

export type Condition = (typeof CONDITIONS)[number];

/** What comes back, and in which state. */
export type Case = { subject: Subject; condition: Condition };

/** Everything in every state. */
export const CASES: readonly Case[] = SUBJECTS.flatMap((subject) =>
  CONDITIONS.map((condition) => ({ subject, condition })),
);

/** How a drill is called: `PostgreSQL: older copy`. */
export const nameOf = ({ subject, condition }: { subject: string; condition: string }): string =>
  `${subject}: ${condition}`;

export type Drill = {
  /** What people are promised, in a sentence of the page. */
  promise: string;
  /**
   * Whether links may be answered 503, or not at all, meanwhile; those that lead somewhere must
   * lead right.
   */
  mayBeUnavailable?: boolean;
  /**
   * Matches what `/readyz`, `doctor` or an alert must say meanwhile; undefined when there is
   * nothing to be said.
   */
  named?: RegExp;
  /**
   * Brings it about, keeps it for a while, and carries out the procedure that ends it. Returns how
   * many clicks may be missing: they were acknowledged, and only in what was lost.
   */
  inject(system: TwoHosts): Promise<number | void>;
};

/** Drills of a subject by their conditions. */
export type Drills = Partial<Record<Condition, Drill>>;

/** A restarted process is not there for a moment. */
export const RESTARTED = { mayBeUnavailable: true };
