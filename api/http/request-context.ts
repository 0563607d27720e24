/** The context of a request: its caller, its client's address, and what it may ask again. */
import { networkToKeep } from "../../shared/addresses.ts";
import type { TrustedProxies } from "../../shared/client-address.ts";
import type { Confirm, Origin, Principal, Session } from "./principal.ts";

/** The state of a request while it is handled. */
export type Call = {
  /** The client's address; empty when the connection is already closed. */
  address: string;
  requestId: string;
  /** Set once the caller is authenticated for an account. */
  principal?: Principal;
  /** Set with the principal: asks again, for what lasts longer than a request. */
  confirm?: Confirm;
  /** Set once the caller is authenticated by a session. */
  session?: Session;
};

export type ResponseHeaders = Record<string, string | number>;

/** The part of a response that can be set before there is one. */
export type ResponseSettings = { status?: number | string; headers: ResponseHeaders };

/** A request of the process to itself in place of one of a client, whose address it has. */
export class ForwardedRequest extends Request {
  readonly original: Request;
  /** The error with which the client's request is refused; undefined for one that is not. */
  readonly refusal: unknown;

  /** `path` is on the host of the original request. */
  constructor(original: Request, path: string, init: RequestInit, refusal?: unknown) {
    super(new URL(path, original.url).href, init);
    this.original = original;
    this.refusal = refusal;
  }
}

/** The client's address, read through trusted proxies. */
export function addressOf(
  request: Request,
  server: { requestIP(request: Request): { address: string } | null } | null,
  proxies: TrustedProxies,
): string {
  const sent = request instanceof ForwardedRequest ? request.original : request;
  const forwardedFor = sent.headers.get("x-forwarded-for");
  return proxies.clientOf(server?.requestIP(sent)?.address ?? "", forwardedFor);
}

/** The origin of a request, as the ledger keeps it. */
export const originOf = ({ address, requestId }: Call): Origin => ({
  network: networkToKeep(address),
  request_id: requestId,
});

/** The caller of a route with an access rule. Throws for a route without one. */
export function principalOf(call: Call | undefined): Principal {
  if (call?.principal === undefined) throw new Error("The route declares no access rule.");
  return call.principal;
}

/**
 * The check of a response that lasts, before it goes on: its caller may have lost the right.
 * Throws for a route without an access rule.
 */
export function confirmOf(call: Call | undefined): Confirm {
  if (call?.confirm === undefined) throw new Error("The route declares no access rule.");
  return call.confirm;
}

/** Adds a request header that the response depends on to `Vary`. */
export function addVary(headers: ResponseHeaders, name: string): void {
  const { vary } = headers;
  headers["vary"] = vary === undefined ? name : `${vary}, ${name}`;
}
