/**
 * A link's settings beyond its destination: how they are stored, changed by a request, and shown in
 * responses.
 */
import { randomInt } from "node:crypto";

import * as z from "zod";

import { settingsFields, settingsResponse } from "../../shared/contracts/link-settings.ts";
import { decodeId, encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { siteOf } from "../../shared/visitors/referrer.ts";
import { presentFields } from "../http/common-schemas.ts";
import { ApiError, checkAll, invalidField } from "../http/errors.ts";
import { type CustomHosts, type DestinationRules, requireDestination } from "./destinations.ts";

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
   * `applyChange`.
   */
  host_changed_at?: string | undefined;
  /**
   * The ledger of the click limit, and the clicks counted before it; both stay while the link has a
   * limit.
   */
  ledger?: { id: Uuid; before: number } | undefined;
};

const request = z.object(settingsFields);

/** Settings in the form of a request. */
export type SettingsBody = z.output<typeof request>;

/** Settings to change. undefined switches a setting off; an absent one stays unchanged. */
export type SettingsChange = { [Field in keyof LinkSettings]: LinkSettings[Field] | undefined };

/** Validates the settings of a request. Throws `invalid_url` and `invalid_request`. */
export async function prepareSettings(
  body: SettingsBody,
  rules: DestinationRules,
  hosts: CustomHosts,
): Promise<SettingsChange> {
  const change = toChange(body);
  await requireUrls(body, rules, hosts);
  return change;
}

function toChange(body: SettingsBody): SettingsChange {
  const { disabled, starts_at, expired_url, rules, split, preview } = body;
  const { forward_path, redirect_status, max_clicks, limit_counts, confirm } = body;
  const change: SettingsChange = {};
  if (disabled !== undefined) change.disabled = disabled || undefined;
  if (starts_at !== undefined)
    change.starts_at = starts_at === null ? undefined : new Date(starts_at).toISOString();
  if (expired_url !== undefined) change.expired_url = expired_url ?? undefined;
  if (rules !== undefined)
    change.rules = rules === null || rules.length === 0 ? undefined : prepareRules(rules);
  if (split !== undefined) change.split = split === null ? undefined : prepareSplit(split);
  if (preview !== undefined)
    change.preview = preview === null ? undefined : preparePreview(preview);
  if (forward_path !== undefined) change.forward_path = forward_path ?? undefined;
  if (redirect_status !== undefined) change.redirect_status = redirect_status ?? undefined;
  if (max_clicks !== undefined) change.max_clicks = max_clicks ?? undefined;
  if (limit_counts !== undefined)
    change.limit_counts = limit_counts === "human" ? "human" : undefined;
  if (confirm !== undefined) change.confirm = confirm || undefined;
  return change;
}

function prepareSplit({ arms, until }: NonNullable<SettingsBody["split"]>): LinkSettings["split"] {
  const ids = prepareIds("arm", "split.arms", arms);
  return {
    arms: arms.map(({ label, url, weight }, i) => ({
      id: ids[i] ?? "",
      ...(typeof label === "string" ? { label } : {}),
      url,
      weight,
    })),
    until: typeof until === "string" ? new Date(until).toISOString() : null,
    key: randomInt(2 ** 32),
  };
}

function prepareRules(rules: NonNullable<SettingsBody["rules"]>): LinkSettings["rules"] {
  const ids = prepareIds("rule", "rules", rules);
  for (const [i, { conditions }] of rules.entries())
    for (const [j, condition] of conditions.entries())
      if (condition.type === "referrer")
        requireSites(`rules.${i}.conditions.${j}.in`, condition.in);
  return rules.map(({ url, conditions }, i) => ({ id: ids[i] ?? "", url, conditions }));
}

/** How the name of an app begins, `com.example.news`, and no subdomain but that of a language. */
const APP = /^(?:com|org|net|io|[a-z]{2})\./;

/** Throws `invalid_request` for a host that no click has as its source, but the site it is on. */
function requireSites(field: string, values: readonly string[]): void {
  for (const [i, value] of values.entries()) {
    const site = siteOf(value);
    if (site !== value && !APP.test(value))
      throw invalidField(`${field}.${i}`, `must be a site, as clicks have it: ${site}`);
  }
}

const preparePreview = ({
  title,
  description,
  image,
}: NonNullable<SettingsBody["preview"]>): LinkSettings["preview"] => ({
  title,
  description: description ?? null,
  image: image ?? null,
});

/**
 * The ids of rules: the request's, or new ones. Throws `invalid_request` for an invalid or repeated
 * id.
 */
function prepareIds(
  kind: "rule" | "arm",
  field: string,
  items: readonly { id?: string | undefined }[],
): string[] {
  const ids = new Set<string>();
  for (const [i, { id = encodeId(kind, newUuid()) }] of items.entries()) {
    if (decodeId(kind, id) === undefined || ids.has(id))
      throw invalidField(`${field}.${i}.id`, `must be the id of a link's ${kind}, each once`);
    ids.add(id);
  }
  return [...ids];
}

/** A URL by the name of its field, such as `rules.0.url`. */
type UrlField = readonly [field: string, url: string];

/**
 * Validates the URLs of settings as destinations; that of a preview's image must be https. Throws
 * `invalid_url` for the first invalid one, naming its field, with all invalid ones as details.
 */
export async function requireUrls(
  body: SettingsBody,
  rules: DestinationRules,
  hosts: CustomHosts,
): Promise<void> {
  await checkAll(urlsOf(body).map((field) => () => requireUrl(field, rules, hosts)));
}

/** The URLs of settings: all but the destination to which a link leads. */
export function urlsOf({
  expired_url,
  rules,
  split,
  preview,
}: SettingsBody | LinkSettings): UrlField[] {
  const fields: (readonly [string, string | null | undefined])[] = [
    ["expired_url", expired_url],
    ...(rules ?? []).map(({ url }, i) => [`rules.${i}.url`, url] as const),
    ...(split?.arms ?? []).map(({ url }, i) => [`split.arms.${i}.url`, url] as const),
    ["preview.image", preview?.image],
  ];
  return fields.flatMap(([field, url]) => (typeof url === "string" ? [[field, url] as const] : []));
}

async function requireUrl(
  [field, url]: UrlField,
  rules: DestinationRules,
  hosts: CustomHosts,
): Promise<void> {
  const { href } = await requireDestination(url, rules, hosts).catch((error: unknown) => {
    const isInvalid = error instanceof ApiError && error.reason === "invalid_url";
    throw isInvalid ? invalidUrl(field, error.message) : error;
  });
  if (field === "preview.image" && !href.startsWith("https:"))
    throw invalidUrl(field, "The URL must be an https URL.");
}

function invalidUrl(param: string, problem: string): ApiError {
  const message = `Invalid value for "${param}": ${problem}`;
  return new ApiError("invalid_url", message, { param, details: [{ param, message }] });
}

/**
 * The settings after a change; null when all are off. `clicks` is the link's click count so far.
 */
export function changeSettings(
  old: LinkSettings | null,
  change: SettingsChange,
  clicks = 0,
): LinkSettings | null {
  const merged = { ...old, ...change };
  // Keeps the key, so that visitors stay in their arms when the split changes.
  if (merged.split !== undefined && old?.split !== undefined)
    merged.split = { ...merged.split, key: old.split.key };
  // A link that gets a new limit later starts a new ledger.
  if (merged.max_clicks === undefined) {
    merged.ledger = undefined;
    merged.limit_counts = undefined;
  } else {
    merged.ledger ??= { id: newUuid(), before: clicks };
    // Otherwise the first program that looks at a one-time link would use it up.
    if (old?.max_clicks === undefined && !("limit_counts" in change)) merged.limit_counts = "human";
  }
  const settings = presentFields(merged);
  return Object.keys(settings).length === 0 ? null : settings;
}

/** Whether a link has the paths beneath its alias. */
export const forwardsPath = ({ extras }: { extras: LinkSettings | null }): boolean =>
  extras?.forward_path !== undefined;

/** The body without its settings. */
export function withoutSettings<Body extends SettingsBody>(
  body: Body,
): Omit<Body, Exclude<keyof typeof settingsFields, "archived">> {
  const rest = { ...body };
  // A constant object has exactly these keys. `archived` is a column.
  for (const field of Object.keys(settingsFields) as (keyof typeof settingsFields)[])
    if (field !== "archived") delete rest[field];
  return rest;
}

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
export function clicksLeft({ extras, clicks, used_clicks }: State): number | undefined {
  if (extras?.max_clicks === undefined) return undefined;
  return Math.max(0, extras.max_clicks - Math.max(clicks, used_clicks ?? 0));
}

/** The status of a link for visitors at an instant (Unix milliseconds). */
export function statusOf(state: State, now: number): Response["status"] {
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
