/** API keys as clients see them. The value of a key is in the answer that made it, and nowhere else. */
import * as z from "zod";

import type { createKeyBody } from "../../shared/contracts/key-bodies.ts";
import type { Mode } from "../../shared/contracts/link-record.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { paginationAnswer } from "../http/pages.ts";

export type CreateKeyBody = z.output<typeof createKeyBody>;

export const keyAnswer = z.object({
  id: z.string(),
  name: z.string(),
  type: z.enum(["live", "test"]),
  prefix: z.string(),
  scopes: z.array(z.string()),
  created_at: z.iso.datetime(),
  last_used_at: z.iso.datetime().nullable(),
  expires_at: z.iso.datetime().nullable(),
  revoked_at: z.iso.datetime().nullable(),
});

export const newKeyAnswer = keyAnswer.extend({ key: z.string() });

export const keyListAnswer = z.object({
  data: z.array(keyAnswer),
  pagination: paginationAnswer,
});

/** A key as PostgreSQL holds it. */
export type KeyRow = {
  id: Uuid;
  account_id: Uuid;
  name: string;
  mode: Mode;
  prefix: string;
  scopes: string[];
  created_at: Date;
  last_used_at: Date | null;
  expires_at: Date | null;
  revoked_at: Date | null;
};

export const toKeyAnswer = (row: KeyRow): z.output<typeof keyAnswer> => ({
  id: encodeId("key", row.id),
  name: row.name,
  type: row.mode,
  prefix: row.prefix,
  scopes: row.scopes,
  created_at: row.created_at.toISOString(),
  last_used_at: row.last_used_at?.toISOString() ?? null,
  expires_at: row.expires_at?.toISOString() ?? null,
  revoked_at: row.revoked_at?.toISOString() ?? null,
});
