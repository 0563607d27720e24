/** What is said of an API key when it is made: the same in the dashboard's form and in the API. */
import * as z from "zod";

import { plainText } from "./text.ts";

/** What a key may do. */
export const SCOPES = [
  "links:read",
  "links:write",
  "links:delete",
  "analytics:read",
  "domains:read",
  "domains:write",
  "keys:read",
  "keys:write",
] as const;

export type Scope = (typeof SCOPES)[number];

/** The longest time an old key may go on working beside the one that replaces it: a week. */
const GRACE_SECONDS_MAX = 7 * 86_400;

export const createKeyBody = z.strictObject({
  name: plainText(255).min(1),
  type: z.enum(["live", "test"]).optional(),
  scopes: z.array(z.enum(SCOPES)).min(1),
  expires_at: z.iso.datetime({ offset: true }).nullish(),
});

export const rotateKeyBody = z.strictObject({
  grace_seconds: z.int().min(0).max(GRACE_SECONDS_MAX).default(0),
});
