/** Custom domains as clients see them. */
import * as z from "zod";

import { encodeId, type Uuid } from "../../shared/ids.ts";
import { paginationAnswer } from "../http/pages.ts";

export const createDomainBody = z.strictObject({
  domain: z
    .string()
    .min(1)
    .max(255)
    .meta({ description: "A full domain name.", examples: ["go.example.com"] }),
});

export const domainAnswer = z
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
      .meta({ description: "The DNS record that proves the domain to be yours." }),
    created_at: z.iso.datetime(),
    verified_at: z.iso.datetime().nullable(),
  })
  .meta({ id: "Domain" });

/** The answer to an attempt: why a domain is still pending is said beside it. */
export const verifiedAnswer = domainAnswer
  .extend({ problem: z.string().nullable() })
  .meta({ id: "DomainVerification" });

export const domainListAnswer = z.object({
  data: z.array(domainAnswer),
  pagination: paginationAnswer,
});

/** A domain as PostgreSQL holds it. */
export type DomainRow = {
  id: Uuid;
  host: string;
  verification_value: string;
  created_at: Date;
  verified_at: Date | null;
};

/** The name at which the proof of a domain is looked for. */
export const proofName = (host: string): string => `_shorthop.${host}`;

export const toDomainAnswer = (row: DomainRow): z.output<typeof domainAnswer> => ({
  id: encodeId("dom", row.id),
  domain: row.host,
  status: row.verified_at === null ? "pending" : "verified",
  verification: { type: "TXT", name: proofName(row.host), value: row.verification_value },
  created_at: row.created_at.toISOString(),
  verified_at: row.verified_at?.toISOString() ?? null,
});
