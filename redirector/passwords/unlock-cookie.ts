/**
 * Unlock cookies: visitors who have entered a link's password are redirected without entering it
 * again. A cookie is signed, short-lived and bound to the link's version, so that a new password
 * invalidates it.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

import { sliceToString } from "../../shared/bytes.ts";
import type { CachedLink } from "../../shared/links-store/record.ts";

const NAME = "shorthop_unlock";
const VALID_SECONDS = 15 * 60;

export type UnlockCookies = {
  /** Returns a `Set-Cookie` value that unlocks `link` at `path`. */
  issue(link: CachedLink, path: string): string;
  /** Whether a `Cookie` header holds a valid unlock cookie for `link`. */
  accept(link: CachedLink, cookies: string): boolean;
};

/**
 * Processes that share `secret` accept each other's cookies. `secure` sets the cookies' `Secure`
 * attribute.
 */
export function createUnlockCookies(
  secret: string,
  secure: boolean,
  clock: () => number = Date.now,
): UnlockCookies {
  const sign = (link: CachedLink, expires: number): string =>
    createHmac("sha256", secret)
      .update(`${sliceToString(link.ids)}\n${link.version}\n${expires}`, "latin1")
      .digest("base64url");

  return {
    issue(link, path) {
      const expires = Math.floor(clock() / 1_000) + VALID_SECONDS;
      const value = `${expires}.${sign(link, expires)}`;
      return `${NAME}=${value}; Path=${path}; Max-Age=${VALID_SECONDS}; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`;
    },
    accept(link, cookies) {
      const match = /(?:^|;\s*)shorthop_unlock=(\d{1,12})\.([\w-]{43})(?:;|$)/.exec(cookies);
      const [, expires = "", signature = ""] = match ?? [];
      if (Number(expires) * 1_000 <= clock()) return false;
      const expected = Buffer.from(sign(link, Number(expires)));
      return timingSafeEqual(expected, Buffer.from(signature));
    },
  };
}
