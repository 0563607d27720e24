/** Validates settings of a request and applies them to those of a link. */
import { randomInt } from "node:crypto";

import { settingsFields } from "../../../shared/contracts/link-settings.ts";
import { decodeId, encodeId, newUuid } from "../../../shared/ids.ts";
import { siteOf } from "../../../shared/visitors/referrer.ts";
import { invalidField } from "../../http/errors.ts";
import type { DestinationDeps } from "../validation.ts";
import type { LinkSettings, SettingsBody } from "./model.ts";
import { requireUrls } from "./urls.ts";

/** Settings to change. undefined switches a setting off; an absent one stays unchanged. */
export type SettingsChange = { [Field in keyof LinkSettings]: LinkSettings[Field] | undefined };

/** Validates the settings of a request. Throws `invalid_url` and `invalid_request`. */
export async function prepareSettings(
  deps: DestinationDeps,
  body: SettingsBody,
): Promise<SettingsChange> {
  const { disabled, starts_at, expired_url, rules, split, preview, forward_path } = body;
  const { max_clicks, limit_counts, confirm } = body;
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
  if (max_clicks !== undefined) change.max_clicks = max_clicks ?? undefined;
  if (limit_counts !== undefined)
    change.limit_counts = limit_counts === "human" ? "human" : undefined;
  if (confirm !== undefined) change.confirm = confirm || undefined;
  await requireUrls(body, deps);
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
  const settings = Object.entries(merged).filter(([, value]) => value !== undefined);
  return settings.length === 0 ? null : Object.fromEntries(settings);
}

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
