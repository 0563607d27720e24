/**
 * Device cookies recognize a browser from which the user has signed in before (OWASP Authentication
 * Cheat Sheet, device cookies), so that password guesses made elsewhere do not lock the user out of
 * it. A device cookie does not authenticate: signing in still takes the password.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

import { DAY_SECONDS } from "../../shared/durations.ts";

const NAME = "shorthop.device";

/** A browser is recognized for half a year after the user's last sign-in from it. */
const VALID_SECONDS = 180 * DAY_SECONDS;

const ID_BYTES = 16;

/** Id, expiry in Unix seconds and signature. */
const IN_HEADER = /(?:^|; ?)shorthop\.device=([\w-]{22})\.(\d{10,11})\.([\w-]{43})(?:;|$)/;

export type DeviceCookies = ReturnType<typeof createDeviceCookies>;

/** `secret` signs the cookies; `secure` restricts them to https. */
export function createDeviceCookies(secret: string, secure: boolean) {
  const sign = (email: string, id: string, expires: number): Buffer =>
    createHmac("sha256", secret)
      .update(`device\n${email.toLowerCase()}\n${id}\n${expires}`)
      .digest();

  /** The device id of the request's browser, if the user has signed in from it. */
  function find(headers: Headers, email: string): string | undefined {
    const [, id = "", digits = "", signature = ""] =
      IN_HEADER.exec(headers.get("cookie") ?? "") ?? [];
    const expires = Number(digits);
    if (expires * 1_000 <= Date.now()) return undefined;
    const actual = Buffer.from(signature, "base64url");
    const expected = sign(email, id, expires);
    return actual.length === expected.length && timingSafeEqual(actual, expected) ? id : undefined;
  }

  return {
    find,

    /**
     * The `Set-Cookie` value that lets the browser be recognized; a recognized browser keeps its
     * id.
     */
    issue(headers: Headers, email: string): string {
      const id = find(headers, email) ?? randomBytes(ID_BYTES).toString("base64url");
      const expires = Math.floor(Date.now() / 1_000) + VALID_SECONDS;
      const value = `${id}.${expires}.${sign(email, id, expires).toString("base64url")}`;
      const attributes = `Max-Age=${VALID_SECONDS}; Path=/auth; HttpOnly; SameSite=Strict`;
      return `${NAME}=${value}; ${attributes}${secure ? "; Secure" : ""}`;
    },
  };
}
