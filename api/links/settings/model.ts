/** A link's settings beyond its destination. */
import * as z from "zod";

import { settingsFields, settingsResponse } from "../../../shared/contracts/link-settings.ts";
import type { Uuid } from "../../../shared/ids.ts";

export { settingsResponse };

const response = z.object(settingsResponse);

type Response = z.output<typeof response>;

/** The stored settings of a link; a setting that is off is absent. Instants are in UTC. */
export type LinkSettings = Omit<Response, "status" | "split" | "clicks_left" | "archived"> & {
  /**
   * `key` seeds the hash that assigns visitors to arms; it stays the same while the link has a
   * split.
   */
  split?: (NonNullable<Response["split"]> & { key: number }) | undefined;
  /**
   * When the destination's host last changed; absent if it never did. Not a setting: see
   * `update-link.ts`.
   */
  host_changed_at?: string | undefined;
  /**
   * The ledger of the click limit, and the clicks counted before it; both stay while the link has a
   * limit.
   */
  ledger?: { id: Uuid; before: number } | undefined;
};

/** The values that a link's status depends on. */
type State = {
  extras: LinkSettings | null;
  expires_at: Date | null;
  clicks: number;
  /** Used clicks of the limit, if its ledger could be read. */
  used_clicks?: number;
  taken_down: boolean;
  archived: boolean;
};

/** How many redirects the limit still allows; undefined without a limit. */
export function clicksLeft({
  extras,
  clicks,
  used_clicks,
}: Pick<State, "extras" | "clicks" | "used_clicks">) {
  if (extras?.max_clicks === undefined) return undefined;
  return Math.max(0, extras.max_clicks - Math.max(clicks, used_clicks ?? 0));
}

const request = z.object(settingsFields);

/** Settings in the form of a request. */
export type SettingsBody = z.output<typeof request>;

/** The status of a link for visitors at an instant (Unix milliseconds). */
export function statusOf(state: Omit<State, "archived">, now: number): Response["status"] {
  const { extras, expires_at, taken_down } = state;
  if (taken_down) return "taken_down";
  if (extras?.disabled === true) return "disabled";
  if (extras?.starts_at !== undefined && Date.parse(extras.starts_at) > now) return "scheduled";
  if (expires_at !== null && expires_at.getTime() <= now) return "expired";
  return clicksLeft(state) === 0 ? "limit_reached" : "active";
}

/** The response fields of a link's settings. */
export function settingsOf(row: State, now: number): Response {
  const { split, ledger: _, host_changed_at: __, ...settings } = row.extras ?? {};
  const left = clicksLeft(row);
  return {
    status: statusOf(row, now),
    ...(row.archived ? { archived: true as const } : {}),
    ...settings,
    ...(left === undefined ? {} : { clicks_left: left }),
    ...(split === undefined ? {} : { split: { arms: split.arms, until: split.until } }),
  };
}
