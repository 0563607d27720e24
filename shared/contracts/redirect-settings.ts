/**
 * The redirect settings of a link: those that change its redirect, as redirectors need them. The
 * API converts them from the settings that it stores (`api/links/record.ts`); a redirector
 * evaluates the rules among them as bytes (`shared/decision/encoded-rules.ts`). In a state of the
 * links log they are the member `extras`. Most links have none. A process must not guess settings
 * that it does not understand: it treats the link as one that does not exist.
 */

import type { Uuid } from "../ids.ts";
import type { ClickLimit } from "./click-limits.ts";
import type { RedirectStatus } from "./redirect-status.ts";

/** A condition of a rule. `not` inverts it, but an unknown value never matches. */
export type Condition = {
  not?: boolean | undefined;
} & (
  | { type: ListedType; in: readonly string[] }
  /** The short URL has a parameter of the name, with one of the values if there are any. */
  | { type: "query"; name: string; in?: readonly string[] | undefined }
  /** Instants in ISO 8601; `from` is inclusive, `until` exclusive. */
  | { type: "time"; from?: string | undefined; until?: string | undefined }
  /**
   * Weekdays (1 = Monday) and local times `HH:MM`, `to` exclusive. With `to` before `from` it runs
   * over midnight and belongs to the day it began on.
   */
  | { type: "schedule"; timezone: string; days: readonly number[]; from: string; to: string }
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

/** A rule matches when all its conditions match; the first rule that matches decides. */
export type Rule = { id: Uuid; url: string; conditions: readonly Condition[] };

/** The rules of a link as a host has stored them: `EncodedRules`. */
export type StoredRules = {
  urls(): string[];
  /** Throws: messages have rules as the API wrote them. */
  toJSON(): never;
};

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

/** A setting that is off is absent. */
export type RedirectSettings = {
  /** An operator has taken the link down. */
  taken_down?: true;
  /** The link does not exist for visitors. */
  disabled?: true;
  /** Unix milliseconds before which the link does not exist for visitors. */
  starts_at?: number;
  /** The URL to redirect to once the link has expired. */
  expired_url?: string;
  /** Other destinations for some requests, in order; encoded in what a host has stored. */
  rules?: readonly Rule[] | StoredRules;
  /** For requests that no rule matches. */
  split?: Split;
  /** The card for link-preview agents; never for links with a password. */
  preview?: Preview;
  /**
   * Whether a path beyond the alias is appended to the destination's or dropped. Absent: such a
   * path is not found.
   */
  forward_path?: "append" | "ignore";
  /** Absent: the domain's. */
  redirect_status?: RedirectStatus;
  /** The most clicks that the link redirects. */
  limit?: ClickLimit;
  /** A page with a button comes first. */
  confirm?: true;
};

/** Members of redirect settings that this version understands. */
export const MEMBERS: readonly string[] = [
  "taken_down",
  "disabled",
  "starts_at",
  "rules",
  "split",
  "preview",
  "limit",
  "confirm",
  "expired_url",
  "forward_path",
  "redirect_status",
] satisfies readonly (keyof RedirectSettings)[];

/** Types of conditions that this version understands. */
export const CONDITION_TYPES: readonly string[] = [
  ...LISTED_TYPES,
  "query",
  "time",
  "schedule",
] satisfies readonly Condition["type"][];
