/**
 * The secrets of webhooks. They are derived from a random salt, which the database has, and the
 * installation's own secret, which it has not. So a copy of the database is not enough to sign.
 */
import { hkdfSync, randomBytes } from "node:crypto";

import type { Uuid } from "../ids.ts";

const SALT_BYTES = 16;

/** Standard Webhooks: between 24 and 64 bytes. */
const SECRET_BYTES = 32;

/** Before the key in Base64, as Standard Webhooks writes secrets. */
const SECRET_PREFIX = "whsec_";

export const newSalt = (): Buffer => randomBytes(SALT_BYTES);

/** The key of one secret of a webhook. */
export const deriveKey = (ownSecret: string, webhookId: Uuid, salt: Uint8Array): Buffer =>
  Buffer.from(hkdfSync("sha256", ownSecret, salt, `shorthop webhook ${webhookId}`, SECRET_BYTES));

/** The secret as its owner gets it, e.g. `whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw…`. */
export const writeSecret = (key: Buffer): string => `${SECRET_PREFIX}${key.toString("base64")}`;
