/** Visitor ids: they distinguish the visitors of a link without identifying them. */
import type { Uuid } from "../../shared/ids.ts";

/** Returns the 64-bit hash of a visitor as a decimal number. */
export type VisitorHash = (linkId: Uuid, address: string, userAgent: string) => string;

/**
 * HMAC-SHA-256 of link, address and user agent, truncated to 64 bits. Without the secret nobody can find an address by
 * trying all; as the link is part of the input, hashes of a person on two links are unrelated.
 */
export const createVisitorHash =
  (secret: string): VisitorHash =>
  (linkId, address, userAgent) =>
    new Bun.CryptoHasher("sha256", secret)
      .update(`${linkId}\n${address}\n${userAgent}`)
      .digest()
      .readBigUInt64LE(0)
      .toString();
