/**
 * Encrypts stored results, so that access to the database does not reveal them: the key is derived
 * from a secret that only the client's request contains. AES-256-GCM under a key derived by
 * HKDF-SHA256 (RFC 5869).
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts a text; returns nonce, tag and ciphertext. */
export function encrypt(secret: string, text: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, deriveKey(secret), nonce);
  const ciphertext = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]);
}

/** Decrypts the output of {@link encrypt}; returns undefined when the secret is a different one. */
export function decrypt(secret: string, bytes: Uint8Array): string | undefined {
  const textStart = NONCE_BYTES + TAG_BYTES;
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(ALGORITHM, deriveKey(secret), nonce, {
    authTagLength: TAG_BYTES,
  });
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, textStart));
  try {
    return decipher.update(bytes.subarray(textStart), undefined, "utf8") + decipher.final("utf8");
  } catch {
    return undefined;
  }
}

const deriveKey = (secret: string): Buffer =>
  Buffer.from(hkdfSync("sha256", secret, "", "shorthop idempotent answer", 32));
