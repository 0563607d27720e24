/** Request and response bodies of API keys. Only the response that creates a key contains its value. */
import * as z from "zod";

import type { createKeyBody } from "../../shared/contracts/key-schemas.ts";
import type { Mode } from "../../shared/contracts/link-record.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { listOf } from "../http/pagination.ts";

export type CreateKeyBody = z.output<typeof createKeyBody>;

export const keyResponse = z.object({
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

export const newKeyResponse = keyResponse.extend({ key: z.string() });

export const keyListResponse = listOf(keyResponse).meta({ id: "KeyList" });

/** A key as PostgreSQL stores it. */
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

export const toKeyResponse = (row: KeyRow): z.output<typeof keyResponse> => ({
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
