/**
 * Tokens with which recipients unsubscribe from a report without signing in: they name both, signed
 * with a key that the database does not have.
 */
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";

import { ID_BYTES, readUuid, type Uuid, writeUuid } from "../../../shared/ids.ts";

const SUBJECT_BYTES = 2 * ID_BYTES;
const SIGNATURE_BYTES = 16;
const KEY_BYTES = 32;

/** Characters of every token: 48 bytes in Base64. */
const TOKEN = /^[\w-]{64}$/;

export type Recipient = { reportId: Uuid; userId: Uuid };

export type UnsubscribeTokens = ReturnType<typeof createUnsubscribeTokens>;

/** `ownSecret` is one that the installation keeps; another one makes all tokens invalid. */
export function createUnsubscribeTokens(ownSecret: string) {
  const key = Buffer.from(hkdfSync("sha256", ownSecret, "", "shorthop unsubscribe", KEY_BYTES));
  const sign = (subject: Buffer): Buffer =>
    createHmac("sha256", key).update(subject).digest().subarray(0, SIGNATURE_BYTES);
  return {
    write({ reportId, userId }: Recipient): string {
      const subject = Buffer.alloc(SUBJECT_BYTES);
      writeUuid(subject, 0, reportId);
      writeUuid(subject, ID_BYTES, userId);
      return Buffer.concat([subject, sign(subject)]).toString("base64url");
    },

    /** Whom a token names; undefined unless it was written with the same secret. */
    read(token: string): Recipient | undefined {
      if (!TOKEN.test(token)) return undefined;
      const bytes = Buffer.from(token, "base64url");
      const subject = bytes.subarray(0, SUBJECT_BYTES);
      if (!timingSafeEqual(bytes.subarray(SUBJECT_BYTES), sign(subject))) return undefined;
      return { reportId: readUuid(subject, 0), userId: readUuid(subject, ID_BYTES) };
    },
  };
}
