/** A visitor of a link, told apart without knowing who it is. */
import type { Uuid } from "../../shared/ids.ts";

/** Gives the 64-bit hash of a visitor as a decimal number. */
export type VisitorHash = (linkId: Uuid, address: string, userAgent: string) => string;

/**
 * HMAC-SHA-256, cut to 64 bits, over link, address and user agent. Without the secret nobody can try
 * out addresses, and the link within it makes a person's hashes on two links unrelated.
 */
export const createVisitorHash =
  (secret: string): VisitorHash =>
  (linkId, address, userAgent) =>
    new Bun.CryptoHasher("sha256", secret)
      .update(`${linkId}\n${address}\n${userAgent}`)
      .digest()
      .readBigUInt64LE(0)
      .toString();
