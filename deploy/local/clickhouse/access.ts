/**
 * Access control of the gateway. It listens on loopback, which every program and every web page on
 * this machine can reach: a page with a simple POST, or through its own host name that resolves to
 * 127.0.0.1 (DNS rebinding). So requests from browsers or with foreign host names are rejected; all
 * others need the password.
 */
import { createHash, timingSafeEqual } from "node:crypto";

import { GatewayError } from "./errors.ts";

export type Credentials = { user: string; password: string };

/** Host names of this machine; any port, because a request may come through a forwarded one. */
const LOOPBACK_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/;

/** Throws a 403 if the request may come from a web page, or if its Host is not this machine. */
export function rejectForeign(request: Request): void {
  const host = request.headers.get("host") ?? "";
  if (!LOOPBACK_HOST.test(host)) throw forbidden("Host is not this machine");
  // Only browsers send these headers.
  const site = request.headers.get("sec-fetch-site");
  if (request.headers.has("origin") || (site !== null && site !== "none"))
    throw forbidden("Requests of web pages are not allowed");
}

/**
 * Throws a 401 unless the request carries user and password in one of the ways ClickHouse supports.
 */
export function authenticate(request: Request, url: URL, expected: Credentials): void {
  const { user, password } = readCredentials(request, url);
  // Compares both, in constant time, so that the duration reveals nothing.
  const sameUser = isEqual(user, expected.user);
  const samePassword = isEqual(password, expected.password);
  if (!sameUser || !samePassword) {
    throw new GatewayError(
      401,
      "Code: 516. DB::Exception: Authentication failed: password is incorrect, or there is no such user. (AUTHENTICATION_FAILED)",
    );
  }
}

function readCredentials(request: Request, url: URL): Credentials {
  const { headers } = request;
  const authorization = headers.get("authorization") ?? "";
  if (authorization.startsWith(BASIC)) {
    const text = Buffer.from(authorization.slice(BASIC.length), "base64").toString();
    const colon = text.indexOf(":");
    return { user: text.slice(0, Math.max(0, colon)), password: text.slice(colon + 1) };
  }
  return {
    user: headers.get("x-clickhouse-user") ?? url.searchParams.get("user") ?? "",
    password: headers.get("x-clickhouse-key") ?? url.searchParams.get("password") ?? "",
  };
}

const BASIC = "Basic ";

const isEqual = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

const forbidden = (reason: string) =>
  new GatewayError(403, `Code: 497. DB::Exception: ${reason}. (ACCESS_DENIED)`);
