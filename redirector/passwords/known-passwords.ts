/**
 * Passwords that were right: visitors who enter one again need no other verification, so that
 * however often they do costs next to nothing. Only a hash of each is kept, with a key of this
 * process; a link's new password has another one.
 */
import { createHmac, randomBytes } from "node:crypto";

import { LRUCache } from "lru-cache";

/** Maximum passwords; those not used lately are verified again. */
const KNOWN_MAX = 10_000;

export function createKnownPasswords() {
  const key = randomBytes(32);
  const known = new LRUCache<string, true>({ max: KNOWN_MAX });

  const digest = (password: string, hash: string): string =>
    createHmac("sha256", key).update(`${hash}\n${password}`).digest("base64");

  return {
    has: (password: string, hash: string): boolean => known.get(digest(password, hash)) === true,
    add: (password: string, hash: string): void => void known.set(digest(password, hash), true),
  };
}
