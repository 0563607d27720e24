/**
 * A domain's settings: the responses to visitors where it has no link, in the form of requests and
 * of the log.
 */
import {
  APP_FILE_BYTES_MAX,
  type ChangeDomainBody,
} from "../../shared/contracts/domain-settings.ts";
import type { DomainSettings } from "../../shared/contracts/notices.ts";
import type { RedirectStatus } from "../../shared/contracts/redirect-status.ts";
import { uriOf } from "../../shared/contracts/web-url.ts";
import { invalidField } from "../http/errors.ts";

/** The stored settings; a setting that is off is absent. URLs are as the client sent them. */
export type StoredSettings = {
  root_url?: string;
  not_found_url?: string;
  expired_url?: string;
  redirect_status?: RedirectStatus;
  apple_app_site_association?: Record<string, unknown>;
  assetlinks?: unknown[];
};

const URLS = ["root_url", "not_found_url", "expired_url"] as const;
const FILES = ["apple_app_site_association", "assetlinks"] as const;

/**
 * Validates the settings of a request. undefined switches a setting off; an absent one stays
 * unchanged. `checkUrl` returns the URL to store, and throws for one that is not allowed. Throws
 * `invalid_request` for a file that is too large.
 */
export async function prepareDomainSettings(
  body: ChangeDomainBody,
  checkUrl: (field: string, url: string) => Promise<string>,
): Promise<Partial<Record<keyof StoredSettings, unknown>>> {
  const change: Partial<Record<keyof StoredSettings, unknown>> = {};
  for (const field of URLS) {
    const url = body[field];
    if (url === undefined) continue;
    change[field] = url === null ? undefined : await checkUrl(field, url);
  }
  if (body.redirect_status !== undefined)
    change.redirect_status = body.redirect_status ?? undefined;
  for (const field of FILES) {
    const file = body[field];
    if (file === undefined) continue;
    if (file !== null && Buffer.byteLength(JSON.stringify(file)) > APP_FILE_BYTES_MAX)
      throw invalidField(field, `must have at most ${APP_FILE_BYTES_MAX} bytes`);
    change[field] = file ?? undefined;
  }
  return change;
}

/** The settings after a change; null when all are off. */
export function mergeDomainSettings(
  old: StoredSettings | null,
  change: Partial<Record<keyof StoredSettings, unknown>>,
): StoredSettings | null {
  const entries = Object.entries({ ...old, ...change }).filter(([, value]) => value !== undefined);
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

/** The settings for redirectors, with normalized URLs. */
export function toNoticeSettings(row: {
  settings: StoredSettings | null;
  case_sensitive: boolean;
  switching: boolean;
}): DomainSettings {
  const { settings, case_sensitive, switching } = row;
  const urls = URLS.flatMap((field) => {
    const url = settings?.[field];
    return url === undefined ? [] : [[field, uriOf(url)]];
  });
  const fold = switching ? "switching" : "all";
  return {
    ...settings,
    ...Object.fromEntries(urls),
    ...(case_sensitive && !switching ? {} : { fold }),
  };
}
