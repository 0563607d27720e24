/** Schemas of domain requests and responses, the rows they come from, and their events. */
import { isIP } from "node:net";

import { parse } from "tldts";
import * as z from "zod";

import { domainSettingsResponse } from "../../shared/contracts/domain-settings.ts";
import { CREATED_AT, CUSTOM_DOMAIN, DOMAIN_ID } from "../../shared/contracts/examples.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { type Changes, type NewEvent, toJson } from "../events/record.ts";
import { createdAt, idParameter, text } from "../http/common-schemas.ts";
import { listOf } from "../http/pagination.ts";
import type { StoredSettings } from "./settings.ts";

export const domainParams = z.object({ id: idParameter("dom", "The domain's id.", DOMAIN_ID) });

export const newDomainBody = z
  .strictObject({
    domain: z
      .string()
      .min(1)
      .max(255)
      // The documented bound is that of a name in ASCII.
      .meta({ description: "A full domain name.", examples: [CUSTOM_DOMAIN], maxLength: 253 }),
  })
  .meta({ id: "NewDomain", description: "A domain to add." });

/** The name and the content of a DNS record. */
const recordName = (example: string) => text("The name of the record.", example);

const recordValue = (example: string) => text("The content of the record.", example);

const dnsRecord = z
  .object({
    type: z.literal("TXT").meta({ description: "The type of the record." }),
    name: recordName("_shorthop.go.example.com"),
    value: recordValue("shorthop-verification=7f3a9c51d2e84b607f3a9c51d2e84b607f3a9c51"),
  })
  .meta({ id: "DnsRecord", description: "The DNS record that proves ownership of the domain." });

const routingRecord = z
  .object({
    type: z.enum(["CNAME", "ALIAS", "A", "AAAA"]).meta({ description: "The type of the record." }),
    name: recordName(CUSTOM_DOMAIN),
    value: recordValue("short.example.com"),
  })
  .meta({
    id: "RoutingRecord",
    description:
      "The DNS record that sends visitors to the service; ALIAS (or ANAME, a flattened CNAME) at the top of a domain.",
  });

export const domainResponse = z
  .object({
    id: text("The domain's id, for the paths of this API.", DOMAIN_ID),
    domain: text("The domain's name, in ASCII.", CUSTOM_DOMAIN),
    status: z.enum(["pending", "verified"]).meta({
      description: "Whether links can use the domain: once it is verified.",
      examples: ["verified"],
    }),
    verification: dnsRecord.meta({
      description: "The DNS record to publish, which proves that the domain is yours.",
    }),
    routing: routingRecord.meta({
      description: "The DNS record that sends visitors of the domain to the service.",
    }),
    created_at: createdAt,
    verified_at: z.iso
      .datetime()
      .nullable()
      .meta({
        description: "When the record was found; null while it was not.",
        examples: [CREATED_AT],
      }),
    proof_missing_since: z.iso
      .datetime()
      .optional()
      .meta({
        description: "Since when the TXT record of a verified domain has not been found.",
        examples: [CREATED_AT],
      }),
    ...domainSettingsResponse,
  })
  .meta({ id: "Domain", description: "A custom domain for short links." });

/** The result of a verification attempt: `problem` says why the domain is still pending. */
export const verificationResponse = domainResponse
  .extend({
    checked_at: z.iso
      .datetime()
      .nullable()
      .meta({
        description: "When DNS was asked; null when the domain had been verified before.",
        examples: [CREATED_AT],
      }),
    problem: z
      .string()
      .nullable()
      .meta({
        description: "Why the domain is still pending; null when it is verified.",
        examples: ["There is no TXT record at _shorthop.go.example.com."],
      }),
  })
  .meta({
    id: "DomainVerification",
    description: "A domain, and the outcome of looking up its record.",
  });

export const domainListResponse = listOf(domainResponse).meta({
  id: "DomainList",
  description: "A page of domains.",
});

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
