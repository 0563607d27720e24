/** Requests and responses of the routes of sign-ins. */
import type { Session } from "../http/principal.ts";
import { type Call, originOf, type ResponseSettings } from "../http/request-context.ts";
import type { ClientInfo } from "./password-attempts.ts";
import { notSignedIn } from "./service.ts";

/** The session of a route with `access: "session"`. */
export function requireSession(call: Call | undefined): Session {
  if (call?.session === undefined) throw notSignedIn();
  return call.session;
}

/** Passes only the cookie and the browser's name to the library. */
export function clientInfo(call: Call, request: Request): ClientInfo {
  const headers = new Headers();
  for (const name of ["cookie", "user-agent"]) {
    const value = request.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  return { address: call.address, origin: originOf(call), headers };
}

/** The framework writes one header for each value. */
export function setCookies(set: ResponseSettings, cookies: string[]): void {
  if (cookies.length > 0) Object.assign(set.headers, { "set-cookie": cookies });
}
