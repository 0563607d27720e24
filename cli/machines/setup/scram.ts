/**
 * Verifiers of PostgreSQL passwords (SCRAM-SHA-256, RFC 5802 and RFC 7677). The server takes one in
 * place of a password, so that neither its log nor a statement contains the password; and by the
 * server's own one setup sees whether a password is the current one.
 */
import { createHash, createHmac, pbkdf2Sync, randomBytes, timingSafeEqual } from "node:crypto";

const KEY_BYTES = 32;
const SALT_BYTES = 16;

/** PostgreSQL's default. */
const ITERATIONS = 4_096;

/** `SCRAM-SHA-256$iterations:salt$storedKey:serverKey`, as in `pg_authid.rolpassword`. */
const VERIFIER = /^SCRAM-SHA-256\$(\d{1,7}):([\w+/=]{1,100})\$[\w+/=]{1,100}:[\w+/=]{1,100}$/;

/** Creates a verifier of a password, which is ASCII. */
export function createVerifier(
  password: string,
  salt = randomBytes(SALT_BYTES),
  iterations = ITERATIONS,
): string {
  const salted = pbkdf2Sync(password, salt, iterations, KEY_BYTES, "sha256");
  const keyOf = (label: string) => createHmac("sha256", salted).update(label).digest();
  const stored = createHash("sha256").update(keyOf("Client Key")).digest("base64");
  const server = keyOf("Server Key").toString("base64");
  return `SCRAM-SHA-256$${iterations}:${salt.toString("base64")}$${stored}:${server}`;
}

/** Whether a verifier is of this password. */
export function verifies(verifier: string, password: string): boolean {
  const [, iterations, salt = ""] = VERIFIER.exec(verifier) ?? [];
  if (iterations === undefined) return false;
  const expected = createVerifier(password, Buffer.from(salt, "base64"), Number(iterations));
  return (
    expected.length === verifier.length &&
    timingSafeEqual(Buffer.from(expected), Buffer.from(verifier))
  );
}
