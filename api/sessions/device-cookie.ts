/**
 * Device cookies recognize a browser in which the user has signed in before (OWASP Authentication
 * Cheat Sheet, device cookies), so that password guesses made elsewhere do not lock the user out of
 * it. A device cookie does not authenticate: signing in still takes the password. It belongs to a
 * user and their present password: whoever knew an earlier one has no attempts of their own.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

import { DAY_SECONDS } from "../../shared/durations.ts";
import type { Credentials } from "./sql.ts";

const NAME = "shorthop.device";

/** A browser is recognized for half a year after the user's last sign-in from it. */
const VALID_SECONDS = 180 * DAY_SECONDS;

const ID_BYTES = 16;

/** Id, expiry in Unix seconds and signature. */
const IN_HEADER = /(?:^|; ?)shorthop\.device=([\w-]{22})\.(\d{10,11})\.([\w-]{43})(?:;|$)/;

export class DeviceCookies {
  readonly #secret: string;
  readonly #secure: boolean;

  /** `secret` signs the cookies; `secure` restricts them to https. */
  constructor(secret: string, secure: boolean) {
    this.#secret = secret;
    this.#secure = secure;
  }

  /** The id of the request's browser, if the user has signed in from it with this password. */
  find(headers: Headers, user: Credentials): string | undefined {
    const [, id = "", digits = "", signature = ""] =
      IN_HEADER.exec(headers.get("cookie") ?? "") ?? [];
    const expires = Number(digits);
    if (expires * 1_000 <= Date.now()) return undefined;
    const actual = Buffer.from(signature, "base64url");
    const expected = this.#sign(user, id, expires);
    return actual.length === expected.length && timingSafeEqual(actual, expected) ? id : undefined;
  }

  /**
   * The `Set-Cookie` value that lets the browser be recognized; a recognized browser keeps its id.
   */
  issue(headers: Headers, user: Credentials): string {
    const id = this.find(headers, user) ?? randomBytes(ID_BYTES).toString("base64url");
    const expires = Math.floor(Date.now() / 1_000) + VALID_SECONDS;
    const value = `${id}.${expires}.${this.#sign(user, id, expires).toString("base64url")}`;
    const attributes = `Max-Age=${VALID_SECONDS}; Path=/auth; HttpOnly; SameSite=Strict`;
    return `${NAME}=${value}; ${attributes}${this.#secure ? "; Secure" : ""}`;
  }

  #sign(user: Credentials, id: string, expires: number): Buffer {
    return createHmac("sha256", this.#secret)
      .update(`device\n${user.id}\n${user.password_hash ?? ""}\n${id}\n${expires}`)
      .digest();
  }
}
