/** A drill: what comes back, in which state, and what is promised then. */
import type { TwoHosts } from "../../topologies/two-hosts.ts";

export const SUBJECTS = [
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

export const CONDITIONS = [
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

/** What a drill did, for what is counted afterwards. */
export type Effect = {
  /** Clicks that were acknowledged, were only in what was lost, and so may be missing. */
  lostClicksMax?: number;
};

export type Drill = {
  subject: Subject;
  condition: Condition;
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
  /** Brings it about, keeps it for a while, and carries out the procedure that ends it. */
  inject(system: TwoHosts): Promise<Effect | void>;
};

/** How a drill is called: `PostgreSQL: older copy`. */
export const nameOf = ({ subject, condition }: { subject: string; condition: string }): string =>
  `${subject}: ${condition}`;
