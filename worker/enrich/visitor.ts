/** Visitor ids: they distinguish the visitors of a link without identifying them. */
import type { Uuid } from "../../shared/ids.ts";

/** Returns the 64-bit hash of a visitor as a decimal number. */
export type VisitorHash = (linkId: Uuid, address: string, userAgent: string) => string;

/**
 * HMAC-SHA-256 of link, address and user agent, truncated to 64 bits. Without the secret, an
 * address cannot be found by trying all; as the link is part of the input, the hashes of a person
 * on two links are unrelated.
 */
export function createVisitorHash(secret: string): VisitorHash {
  // To copy a hasher that has the key is cheaper than to create one.
  const keyed = new Bun.CryptoHasher("sha256", secret);
  const digest = new BigUint64Array(DIGEST_WORDS);
  return (linkId, address, userAgent) => {
    keyed.copy().update(`${linkId}\n${address}\n${userAgent}`).digest(digest);
    return String(digest[0]);
  };
}

/** 64-bit words of the buffer that Bun requires for any digest. */
const DIGEST_WORDS = 8;
