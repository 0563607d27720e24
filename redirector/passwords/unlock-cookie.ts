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

export class UnlockCookies {
  readonly #secret: string;
  readonly #attributes: string;

  /** Processes with the same `secret` accept each other's cookies; `secure` is an attribute. */
  constructor(secret: string, secure: boolean) {
    this.#secret = secret;
    this.#attributes = `HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`;
  }

  /** Returns a `Set-Cookie` value that unlocks `link` at `path`. */
  issue(link: CachedLink, path: string): string {
    const expires = Math.floor(Date.now() / 1_000) + VALID_SECONDS;
    const value = `${expires}.${this.#sign(link, expires)}`;
    return `${NAME}=${value}; Path=${path}; Max-Age=${VALID_SECONDS}; ${this.#attributes}`;
  }

  /** Whether a `Cookie` header holds a valid unlock cookie for `link`. */
  accept(link: CachedLink, cookies: string): boolean {
    const match = /(?:^|;\s*)shorthop_unlock=(\d{1,12})\.([\w-]{43})(?:;|$)/.exec(cookies);
    const [, expires = "", signature = ""] = match ?? [];
    if (Number(expires) * 1_000 <= Date.now()) return false;
    const expected = Buffer.from(this.#sign(link, Number(expires)));
    return timingSafeEqual(expected, Buffer.from(signature));
  }

  #sign(link: CachedLink, expires: number): string {
    return createHmac("sha256", this.#secret)
      .update(`${sliceToString(link.ids)}\n${link.version}\n${expires}`, "latin1")
      .digest("base64url");
  }
}
