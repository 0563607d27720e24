/** Schemas of domain requests and responses, and the rows they come from. */
import { isIP } from "node:net";

import { parse } from "tldts";
import * as z from "zod";

import { domainSettingsResponse } from "../../shared/contracts/domain-settings.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { listOf } from "../http/pagination.ts";
import type { StoredSettings } from "./settings.ts";

export const createDomainBody = z.strictObject({
  domain: z
    .string()
    .min(1)
    .max(255)
    .meta({ description: "A full domain name.", examples: ["go.example.com"] }),
});

export const domainResponse = z
  .object({
    id: z.string().meta({ examples: ["dom_01k9z3v6x7e8w9r0t1y2u3i4o5"] }),
    domain: z.string(),
    status: z.enum(["pending", "verified"]),
    verification: z
      .object({
        type: z.literal("TXT"),
        name: z.string().meta({ examples: ["_shorthop.go.example.com"] }),
        value: z.string(),
      })
      .meta({ description: "The DNS record that proves ownership of the domain." }),
    routing: z
      .object({
        type: z.enum(["CNAME", "ALIAS", "A", "AAAA"]),
        name: z.string(),
        value: z.string(),
      })
      .meta({
        description:
          "The DNS record that leads visitors to the service; ALIAS (or ANAME, a flattened CNAME) at the top of a domain.",
      }),
    created_at: z.iso.datetime(),
    verified_at: z.iso.datetime().nullable(),
    proof_missing_since: z.iso
      .datetime()
      .optional()
      .meta({ description: "Since when the TXT record of a verified domain has not been found." }),
    ...domainSettingsResponse,
  })
  .meta({ id: "Domain" });

/** The result of a verification attempt: `problem` says why the domain is still pending. */
export const verificationResponse = domainResponse
  .extend({ problem: z.string().nullable() })
  .meta({ id: "DomainVerification" });

export const domainListResponse = listOf(domainResponse).meta({ id: "DomainList" });

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
