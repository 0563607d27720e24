/**
 * Cookies by which somebody who has typed a link's password is let through again: signed, short-lived,
 * and bound to the very state of the link, so that a new password ends them.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

import { passageText } from "../shared/bytes.ts";
import type { CachedLink } from "./cache/record.ts";

const NAME = "shorthop_pass";
const VALID_SECONDS = 15 * 60;

export type PasswordPasses = {
  /** The `Set-Cookie` value that lets through to `link` at `path` for a while. */
  issue(link: CachedLink, path: string): string;
  /** Whether a `Cookie` header lets through to `link`. */
  accept(link: CachedLink, cookies: string): boolean;
};

/** Processes that share `secret` accept each other's passes. `secure` keeps cookies off plain HTTP. */
export function createPasswordPasses(
  secret: string,
  secure: boolean,
  clock: () => number = Date.now,
): PasswordPasses {
  const sign = (link: CachedLink, expires: number): string =>
    createHmac("sha256", secret)
      .update(`${passageText(link.ids)}\n${link.version}\n${expires}`, "latin1")
      .digest("base64url");

  return {
    issue(link, path) {
      const expires = Math.floor(clock() / 1_000) + VALID_SECONDS;
      const value = `${expires}.${sign(link, expires)}`;
      return `${NAME}=${value}; Path=${path}; Max-Age=${VALID_SECONDS}; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`;
    },
    accept(link, cookies) {
      const found = /(?:^|;\s*)shorthop_pass=(\d{1,12})\.([\w-]{43})(?:;|$)/.exec(cookies);
      const [, expires = "", signature = ""] = found ?? [];
      if (Number(expires) * 1_000 <= clock()) return false;
      const expected = Buffer.from(sign(link, Number(expires)));
      return timingSafeEqual(expected, Buffer.from(signature));
    },
  };
}
