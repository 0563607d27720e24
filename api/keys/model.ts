/**
 * Request and response bodies of API keys. Only the response that creates a key contains its value.
 */
import * as z from "zod";

import { CREATED_AT, KEY_ID } from "../../shared/contracts/examples.ts";
import { keyNameMeta, type newKeyBody, scopesMeta } from "../../shared/contracts/key-schemas.ts";
import type { Mode } from "../../shared/contracts/link-record.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { createdAt, expiresAt, idParameter, text } from "../http/common-schemas.ts";
import { listOf } from "../http/pagination.ts";

export type CreateKeyBody = z.output<typeof newKeyBody>;

export const keyParams = z.object({
  id: idParameter("key", "The key's id, not its value.", KEY_ID),
});

export const keyResponse = z
  .object({
    id: text("The key's id, for the paths of this API.", KEY_ID),
    name: z.string().meta(keyNameMeta),
    type: z
      .enum(["live", "test"])
      .meta({ description: "`live` for real data, `test` for development." }),
    prefix: text("The beginning of the key, to recognise it by.", "sk_live_4fTq"),
    scopes: z.array(z.string()).meta(scopesMeta),
    created_at: createdAt,
    last_used_at: z.iso
      .datetime()
      .nullable()
      .meta({
        description: "When the key was last used, to within a minute; null for never.",
        examples: [CREATED_AT],
      }),
    expires_at: expiresAt,
    revoked_at: z.iso
      .datetime()
      .nullable()
      .meta({
        description: "When the key was revoked; null for a valid one.",
        examples: [null],
      }),
  })
  .meta({ id: "ApiKey", description: "An API key without its value." });

export const newKeyResponse = keyResponse
  .extend({
    key: text("The key itself. Only this response contains it: store it now.", "sk_live_4fTq…"),
  })
  .meta({ id: "ApiKeyWithValue", description: "A new API key, with its value." });

export const keyListResponse = listOf(keyResponse).meta({
  id: "KeyList",
  description: "A page of API keys.",
});

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
