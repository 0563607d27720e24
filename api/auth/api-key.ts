/**
 * The format of an API key: `sk_live_` or `sk_test_`, a lookup id of 12 characters, a secret of 43
 * (256 bits) and a checksum of 6, all base62. The prefix lets secret scanners find leaked keys; the
 * checksum rejects typos and guesses without a query, as in GitHub's token format.
 */
import { createHash, randomBytes, randomInt } from "node:crypto";

import type { Mode } from "../../shared/contracts/link-record.ts";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const LOOKUP_LENGTH = 12;
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const FORM = /^sk_(live|test)_[0-9A-Za-z]{61}$/;

/** The length of a key's prefix, which is stored and shown to distinguish keys. */
const PREFIX_LENGTH = 12;

export type KeyParts = { mode: Mode; lookup: string; secretHash: Buffer };

export type NewKey = KeyParts & {
  /** The whole key: shown once, stored nowhere. */
  key: string;
  prefix: string;
};

/** Generates a key from the system's secure random source. */
export function generateKey(mode: Mode): NewKey {
  const lookup = randomText(LOOKUP_LENGTH);
  const secret = randomText(SECRET_LENGTH);
  const body = `sk_${mode}_${lookup}${secret}`;
  const key = body + computeChecksum(body);
  return { key, mode, lookup, secretHash: hashSecret(secret), prefix: key.slice(0, PREFIX_LENGTH) };
}

/** Parses a key; returns undefined when its format or its checksum is wrong. */
export function parseKey(key: string): KeyParts | undefined {
  if (!FORM.test(key)) return undefined;
  const body = key.slice(0, -CHECKSUM_LENGTH);
  if (key.slice(-CHECKSUM_LENGTH) !== computeChecksum(body)) return undefined;
  const random = body.slice("sk_live_".length);
  return {
    mode: key.startsWith("sk_live_") ? "live" : "test",
    lookup: random.slice(0, LOOKUP_LENGTH),
    secretHash: hashSecret(random.slice(LOOKUP_LENGTH)),
  };
}

const hashSecret = (secret: string): Buffer =>
  Buffer.from(new Bun.CryptoHasher("sha256").update(secret).digest());

/** CRC-32 in base62: six characters hold any 32-bit number. */
function computeChecksum(body: string): string {
  let rest = Bun.hash.crc32(body);
  let text = "";
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    text = ALPHABET.charAt(rest % ALPHABET.length) + text;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return text;
}

const randomText = (length: number): string =>
  Array.from({ length }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join("");

const TOKEN_BYTES = 32;

/** Creates a token of a URL that needs nothing else to open, and the hash to store instead. */
export function newToken(): { token: string; hash: Buffer } {
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  return { token, hash: hashToken(token) };
}

/** The hash by which what belongs to a token is found. */
export const hashToken = (token: string): Buffer => createHash("sha256").update(token).digest();
