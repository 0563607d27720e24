/** Schemas of domains, of their names and settings, the rows they come from, and their events. */
import { isIP } from "node:net";
import { domainToASCII } from "node:url";

import { parse } from "tldts";
import * as z from "zod";

import { component, strictComponent } from "../../shared/contracts/components.ts";
import {
  APP_FILE_BYTES_MAX,
  type ChangeDomainBody,
  domainSettingsResponse,
} from "../../shared/contracts/domain-settings.ts";
import { CREATED_AT, CUSTOM_DOMAIN, DOMAIN_ID } from "../../shared/contracts/examples.ts";
import type { DomainSettings } from "../../shared/contracts/notices.ts";
import type { RedirectStatus } from "../../shared/contracts/redirect-status.ts";
import { trimInvisible } from "../../shared/contracts/text.ts";
import { uriOf } from "../../shared/contracts/web-url.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { type Changes, type NewEvent, toJson } from "../events/record.ts";
import {
  choice,
  createdAt,
  idInPath,
  instant,
  instantOrNull,
  text,
  textOrNull,
} from "../http/common-schemas.ts";
import { invalidField } from "../http/errors.ts";
import { listOf } from "../http/pagination.ts";

export const domainParams = z.object({ id: idInPath("dom", "The domain's id.", DOMAIN_ID) });

export const newDomainBody = strictComponent("NewDomain", "A domain to add.", {
  domain: z
    .string()
    .min(1)
    .max(255)
    // The documented bound is that of a name in ASCII.
    .meta({ description: "A full domain name.", examples: [CUSTOM_DOMAIN], maxLength: 253 }),
});

/** The name and the content of a DNS record. */
const recordName = (example: string) => text("The name of the record.", example);

const recordValue = (example: string) => text("The content of the record.", example);

const dnsRecord = component("DnsRecord", "The DNS record that proves ownership of the domain.", {
  type: z.literal("TXT").meta({ description: "The type of the record." }),
  name: recordName("_shorthop.go.example.com"),
  value: recordValue("shorthop-verification=7f3a9c51d2e84b607f3a9c51d2e84b607f3a9c51"),
});

const routingRecord = component(
  "RoutingRecord",
  "The DNS record that sends visitors to the service; ALIAS (or ANAME, a flattened CNAME) at the top of a domain.",
  {
    type: choice("The type of the record.", ["CNAME", "ALIAS", "A", "AAAA"]),
    name: recordName(CUSTOM_DOMAIN),
    value: recordValue("short.example.com"),
  },
);

export const domainResponse = component("Domain", "A custom domain for short links.", {
  id: text("The domain's id, for the paths of this API.", DOMAIN_ID),
  domain: text("The domain's name, in ASCII.", CUSTOM_DOMAIN),
  status: choice(
    "Whether links can use the domain: once it is verified.",
    ["pending", "verified"],
    "verified",
  ),
  verification: dnsRecord.meta({
    description: "The DNS record to publish, which proves that the domain is yours.",
  }),
  routing: routingRecord.meta({
    description: "The DNS record that sends visitors of the domain to the service.",
  }),
  created_at: createdAt,
  verified_at: instantOrNull("When the record was found; null while it was not.", CREATED_AT),
  proof_missing_since: instant(
    "Since when the TXT record of a verified domain has not been found.",
    CREATED_AT,
  ).optional(),
  ...domainSettingsResponse,
});

/** The result of a verification attempt: `problem` says why the domain is still pending. */
export const verificationResponse = domainResponse
  .extend({
    checked_at: instantOrNull(
      "When DNS was asked; null when the domain had been verified before.",
      CREATED_AT,
    ),
    problem: textOrNull(
      "Why the domain is still pending; null when it is verified.",
      "There is no TXT record at _shorthop.go.example.com.",
    ),
  })
  .meta({
    id: "DomainVerification",
    description: "A domain, and the outcome of looking up its record.",
  });

export const domainListResponse = listOf("DomainList", "A page of domains.", domainResponse);

/** A domain as stored in PostgreSQL. */
export type DomainRow = {
  id: Uuid;
  account_id: Uuid;
  host: string;
  verification_value: string;
  created_at: Date;
  verified_at: Date | null;
  case_sensitive: boolean;
  /**
   * Its links are being republished because it switches between case-sensitive and case-insensitive
   * aliases.
   */
  switching: boolean;
  settings: StoredSettings | null;
  /** Since when DNS has lacked the proof of a verified domain; null while it is there. */
  missing_since: Date | null;
};

/** The DNS name of the TXT record that proves ownership of a domain. */
export const verificationName = (host: string): string => `_shorthop.${host}`;

/** The DNS record that routes a domain to the service at `shortUrl`. */
function routingOf(host: string, shortUrl: string) {
  const target = new URL(shortUrl).hostname.replaceAll(/[[\]]/g, "");
  const version = isIP(target);
  // The top of a domain has other records, which forbid a CNAME (RFC 1034 §3.6.2).
  const isTop = parse(host, { allowPrivateDomains: true }).domain === host;
  const type =
    version === 4
      ? ("A" as const)
      : version === 6
        ? ("AAAA" as const)
        : isTop
          ? ("ALIAS" as const)
          : ("CNAME" as const);
  return { type, name: host, value: target };
}

export const toDomainResponse = (
  row: DomainRow,
  shortUrl: string,
): z.output<typeof domainResponse> => ({
  id: encodeId("dom", row.id),
  domain: row.host,
  status: row.verified_at === null ? "pending" : "verified",
  verification: { type: "TXT", name: verificationName(row.host), value: row.verification_value },
  routing: routingOf(row.host, shortUrl),
  created_at: row.created_at.toISOString(),
  verified_at: row.verified_at?.toISOString() ?? null,
  ...(row.missing_since === null ? {} : { proof_missing_since: row.missing_since.toISOString() }),
  ...row.settings,
  ...(row.case_sensitive ? {} : { case_sensitive: false }),
  ...(row.switching ? { switching: true } : {}),
});

/**
 * A domain without its DNS records: the proof, and where it leads to, which the command line does
 * not know.
 */
export function domainFields(row: DomainRow) {
  const {
    verification: _,
    routing: __,
    ...domain
  } = toDomainResponse(row, "https://unknown.invalid");
  return domain;
}

export const domainEvent = (
  type:
    "domain.created" | "domain.verified" | "domain.updated" | "domain.displaced" | "domain.deleted",
  row: DomainRow,
  changes?: Changes,
): NewEvent => ({
  type,
  objectId: row.id,
  data: toJson({ domain: domainFields(row), ...(changes === undefined ? {} : { changes }) }),
});

// A domain's settings: the responses to visitors where it has no link, in the form of requests and
// of the log.

/** The stored settings; a setting that is off is absent. URLs are as the client sent them. */
type StoredSettings = {
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

/** RFC 1035 §2.3.4: 255 octets on the wire are 253 characters. */
const HOST_LENGTH_MAX = 253;

/** Maximum characters before the conversion to ASCII, which never shortens a name. */
const TEXT_LENGTH_MAX = 255;

const URL_DELIMITERS = /[/\\?#@:%\s]/;
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

const NOT_A_DOMAIN = { problem: "must be a full domain name such as go.example.com" };

/**
 * Parses a domain name. Returns it in lower case, with internationalised names in their ASCII form.
 * Returns the problem when the name cannot be a custom domain.
 */
export function parseDomain(text: string): { host: string } | { problem: string } {
  if (text.length > TEXT_LENGTH_MAX) return NOT_A_DOMAIN;
  const name = trimInvisible(text).toLowerCase();
  // domainToASCII would silently drop a port, path or query.
  const host = URL_DELIMITERS.test(name) ? "" : domainToASCII(name).replace(/\.$/, "");
  const labels = host.split(".");
  if (
    host.length > HOST_LENGTH_MAX ||
    labels.length < 2 ||
    !labels.every((label) => LABEL.test(label))
  ) {
    return NOT_A_DOMAIN;
  }
  if (isIP(host) !== 0) return { problem: "must be a domain name, not an address" };
  const { domain } = parse(host, { allowPrivateDomains: true });
  if (domain === null) return { problem: "must be a domain that can be registered" };
  return { host };
}
