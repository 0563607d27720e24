/**
 * The token of an invitation: a secret that the inviting host compares, and the fingerprint of its
 * certificate, by which the joining host knows that it talks to nobody else.
 */
import { createHash, randomBytes, timingSafeEqual, X509Certificate } from "node:crypto";

const SECRET_BYTES = 16;
const FINGERPRINT_BYTES = 32;

/** In base64url: 64 characters, one line of a terminal. */
export const TOKEN_LENGTH = ((SECRET_BYTES + FINGERPRINT_BYTES) * 4) / 3;

export type Token = { secret: Buffer; fingerprint: Buffer };

const fingerprintOf = (der: Buffer): Buffer => createHash("sha256").update(der).digest();

/** Creates a token for a certificate in PEM. */
export const createToken = (certificate: string): Token => ({
  secret: randomBytes(SECRET_BYTES),
  fingerprint: fingerprintOf(new X509Certificate(certificate).raw),
});

export const formatToken = ({ secret, fingerprint }: Token): string =>
  Buffer.concat([secret, fingerprint]).toString("base64url");

/** Parses what an operator has copied. Throws when it is no token. */
export function parseToken(text: string): Token {
  const bytes = Buffer.from(text.trim(), "base64url");
  if (text.trim().length !== TOKEN_LENGTH || bytes.length !== SECRET_BYTES + FINGERPRINT_BYTES)
    throw new Error("That is no token: copy all of what shorthop setup --invite has printed.");
  return { secret: bytes.subarray(0, SECRET_BYTES), fingerprint: bytes.subarray(SECRET_BYTES) };
}

/** Whether a certificate, in DER, is the one that the token names. */
export const isPinned = ({ fingerprint }: Token, der: Buffer): boolean =>
  timingSafeEqual(fingerprint, fingerprintOf(der));

/** Whether the secret that was sent is the token's. */
export const isSecretOf = ({ secret }: Token, sent: Buffer): boolean =>
  sent.length === secret.length && timingSafeEqual(sent, secret);
