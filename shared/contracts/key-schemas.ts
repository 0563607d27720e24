/** Schemas of requests about API keys, shared by the API and the dashboard's forms. */
import * as z from "zod";

import { instant } from "./instant.ts";
import { plainText } from "./text.ts";

/** The permissions of a key. */
export const SCOPES = [
  "links:read",
  "links:write",
  "links:delete",
  "analytics:read",
  "domains:read",
  "domains:write",
  "keys:read",
  "keys:write",
  "shares:read",
  "shares:write",
] as const;

export type Scope = (typeof SCOPES)[number];

/** Longest time that a rotated key stays valid beside its replacement: a week. */
const GRACE_SECONDS_MAX = 7 * 86_400;

/** Most characters of a key's name. */
const KEY_NAME_LENGTH_MAX = 255;

export const createKeyBody = z.strictObject({
  name: plainText(KEY_NAME_LENGTH_MAX).min(1),
  type: z.enum(["live", "test"]).optional(),
  scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length),
  expires_at: instant.nullish(),
});

export const rotateKeyBody = z.strictObject({
  grace_seconds: z.int().min(0).max(GRACE_SECONDS_MAX).default(0),
});
