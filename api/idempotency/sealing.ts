/**
 * Keeps answers so that nobody can read them from the database: the key is derived from what only
 * the client's own request holds. AES-256-GCM under a key by HKDF-SHA256 (RFC 5869).
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts a text: nonce, tag, ciphertext. */
export function seal(secret: string, text: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, keyOf(secret), nonce);
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

/** Reads what {@link seal} wrote; undefined when the secret is another one. */
export function unseal(secret: string, bytes: Uint8Array): string | undefined {
  const textStart = NONCE_BYTES + TAG_BYTES;
  const decipher = createDecipheriv(ALGORITHM, keyOf(secret), bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, textStart));
  try {
    return decipher.update(bytes.subarray(textStart), undefined, "utf8") + decipher.final("utf8");
  } catch {
    return undefined;
  }
}

const keyOf = (secret: string): Buffer =>
  Buffer.from(hkdfSync("sha256", secret, "", "shorthop idempotent answer", 32));
