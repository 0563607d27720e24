/** Tokens of URLs that whoever has them may open: only their hashes are stored. */
import { createHash, randomBytes } from "node:crypto";

const TOKEN_BYTES = 32;

/** Creates a token, and the hash to store. */
export function newToken(): { token: string; hash: Buffer } {
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  return { token, hash: hashToken(token) };
}

/** The hash by which what belongs to a token is found. */
export const hashToken = (token: string): Buffer => createHash("sha256").update(token).digest();
