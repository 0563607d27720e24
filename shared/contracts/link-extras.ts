/**
 * The extras of a link in the links feed: what decides beside its destination. Most links have none. A process that
 * meets extras which it does not understand must not guess: it treats the link as one that does not exist.
 */

import type { Uuid } from "../ids.ts";
import type { ClickLimit } from "./click-limits.ts";

/** A condition of a rule. With `not` it matches what it would otherwise not, but never what is unknown. */
export type Condition = {
  not?: boolean | undefined;
} & (
  | { type: ListedType; in: readonly string[] }
  /** The short URL has a parameter of the name, with one of the values if there are any. */
  | { type: "query"; name: string; in?: readonly string[] | undefined }
  /** Instants in ISO 8601; `from` is inclusive, `until` exclusive. */
  | { type: "time"; from?: string | undefined; until?: string | undefined }
  /**
   * Weekdays (1 = Monday) and local times `HH:MM`, `to` exclusive. With `to` before `from` it runs over midnight and
   * belongs to the day it began on.
   */
  | { type: "schedule"; time_zone: string; days: readonly number[]; from: string; to: string }
);

/** Conditions on a value of the request that must be one of a list. */
const LISTED_TYPES = [
  "country",
  "continent",
  "device",
  "os",
  "browser",
  "language",
  "referrer",
  "ip",
] as const;

type ListedType = (typeof LISTED_TYPES)[number];

/** All conditions of a rule must match; of several rules the first that matches decides. */
export type Rule = { id: Uuid; url: string; conditions: readonly Condition[] };

/** A share of the visitors for each arm, in percent; the rest gets the link's own destination. */
export type Split = {
  /** An unsigned number of 32 bits, random for each link. */
  key: number;
  arms: readonly { id: Uuid; url: string; weight: number }[];
  /** Unix milliseconds from which on everybody gets the link's own destination. */
  until?: number;
};

/** The card that link-preview agents get instead of a redirect. */
export type Preview = { title: string; description?: string; image?: string };

/** Every member is absent when it is off. */
export type LinkExtras = {
  /** An operator has taken the link down. */
  taken_down?: true;
  /** The link does not exist for visitors. */
  disabled?: true;
  /** Unix milliseconds before which the link does not exist for visitors. */
  starts_at?: number;
  /** The URL to redirect to once the link has expired. */
  expired_url?: string;
  /** Other destinations for some requests, in order. */
  rules?: readonly Rule[];
  /** For requests that no rule matches. */
  split?: Split;
  /** For agents that ask for a link to show a card of it; never for links with a password. */
  preview?: Preview;
  /** What becomes of a path beyond the alias: appended to the destination's, or left out. Absent: there is no such link. */
  forward_path?: "append" | "ignore";
  /** How often the link leads on. */
  limit?: ClickLimit;
  /** A page with a button comes first. */
  confirm?: true;
};

/** Members that change where a request in time leads; the others can be left out by a process that lacks them. */
const DECIDING: readonly (keyof LinkExtras)[] = [
  "taken_down",
  "disabled",
  "starts_at",
  "rules",
  "split",
  "preview",
  "limit",
  "confirm",
];

/** Members of extras that this version understands. */
export const MEMBERS: readonly string[] = [
  ...DECIDING,
  "expired_url",
  "forward_path",
] satisfies readonly (keyof LinkExtras)[];

/** Types of conditions that this version understands. */
export const CONDITION_TYPES: readonly string[] = [
  ...LISTED_TYPES,
  "query",
  "time",
  "schedule",
] satisfies readonly Condition["type"][];

/** Whether a process that lacks the extras would lead visitors to where they must not get. */
export const decides = (extras: LinkExtras): boolean =>
  DECIDING.some((member) => extras[member] !== undefined);
