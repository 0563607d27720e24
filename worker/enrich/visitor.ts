/** Visitor ids: they distinguish the visitors of a link without identifying them. */
import type { Uuid } from "../../shared/ids.ts";

/**
 * Returns the 64-bit hash of a visitor as a decimal number. Of an address it takes the network:
 * privacy extensions change the rest of an IPv6 address every day (RFC 8981).
 */
export type VisitorHash = (linkId: Uuid, network: string, userAgent: string) => string;

/**
 * HMAC-SHA-256 of link, network and user agent, truncated to 64 bits. Without the secret, an
 * address cannot be found by trying all; as the link is part of the input, the hashes of a person
 * on two links are unrelated.
 */
export function createVisitorHash(secret: string): VisitorHash {
  // To copy a hasher that has the key is cheaper than to create one.
  const keyed = new Bun.CryptoHasher("sha256", secret);
  const digest = new BigUint64Array(DIGEST_WORDS);
  return (linkId, network, userAgent) => {
    keyed.copy().update(`${linkId}\n${network}\n${userAgent}`).digest(digest);
    return String(digest[0]);
  };
}

/** 64-bit words of the buffer that Bun requires for any digest. */
const DIGEST_WORDS = 8;
