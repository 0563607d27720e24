/** Schemas of domain requests and responses, and the rows they come from. */
import * as z from "zod";

import { encodeId, type Uuid } from "../../shared/ids.ts";
import { paginationSchema } from "../http/pagination.ts";

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
    created_at: z.iso.datetime(),
    verified_at: z.iso.datetime().nullable(),
  })
  .meta({ id: "Domain" });

/** The result of a verification attempt: `problem` says why the domain is still pending. */
export const verificationResponse = domainResponse
  .extend({ problem: z.string().nullable() })
  .meta({ id: "DomainVerification" });

export const domainListResponse = z.object({
  data: z.array(domainResponse),
  pagination: paginationSchema,
});

/** A domain as stored in PostgreSQL. */
export type DomainRow = {
  id: Uuid;
  host: string;
  verification_value: string;
  created_at: Date;
  verified_at: Date | null;
};

/** The DNS name of the TXT record that proves ownership of a domain. */
export const verificationName = (host: string): string => `_shorthop.${host}`;

export const toDomainResponse = (row: DomainRow): z.output<typeof domainResponse> => ({
  id: encodeId("dom", row.id),
  domain: row.host,
  status: row.verified_at === null ? "pending" : "verified",
  verification: { type: "TXT", name: verificationName(row.host), value: row.verification_value },
  created_at: row.created_at.toISOString(),
  verified_at: row.verified_at?.toISOString() ?? null,
});
