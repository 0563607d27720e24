/**
 * Access control. Every route declares an access rule: who may call it, and what a request
 * consumes. A site enforces it by its authenticator, before it reads the body of the request. There
 * are two:
 *
 * - `/v1` authenticates by API key (`api-key-auth.ts`). The scope is checked in PostgreSQL, by the
 *   function `authorize_request` (`api/migrations/0001_accounts.sql`). In one call it finds the key
 *   by its look-up id, compares the hash of its secret, checks that the key is neither revoked nor
 *   expired, that the account is not suspended, and that the route's scope is among the key's
 *   scopes. Then it counts the request against every rate limit of the account or, if one is
 *   exhausted, against none. If the key lacks the scope, it returns `forbidden`, and the API
 *   responds with 403. No request is accepted without a check in PostgreSQL (concurrent requests
 *   share one query), so a revocation takes effect with the next request, in all processes. Only
 *   refusals for a rate limit or a throttled account are repeated without a query, for one second.
 * - The dashboard authenticates by session (`../sessions/session-auth.ts`). The path names the
 *   account. The user's role in it determines the scopes, and the authenticator checks that the
 *   route's scope is among them.
 *
 * Both record the principal on the request: the key or session, its account, mode (live or test)
 * and scopes. A scope permits an operation, not a resource. So every SQL statement on a resource
 * filters by the principal's account and mode, and a link of another account is not found (404).
 */
import type { Scope } from "../../shared/contracts/key-schemas.ts";
import type { Role } from "../../shared/contracts/users.ts";
import type { Call, ResponseHeaders } from "../http/request-context.ts";
import type { EndpointLimit } from "../limits/quotas.ts";
import { NetworkWindow } from "../limits/windows.ts";

/** Scopes of API keys, and permissions that only dashboard users can have. */
type Permission = Scope | "members:read" | "members:write";

export type AccessRule = {
  /** The required scope; null for none. */
  scope: Permission | null;
  /** The endpoint's own rate-limit window; null for none. */
  endpoint: EndpointLimit | null;
  /** How many requests the call consumes: 1, or 0 to read the state of the limits. */
  cost: 0 | 1;
  /** Whether a call may take many times as long as others; a process that is behind refuses it. */
  expensive?: boolean;
};

/**
 * `static`: no authentication, limited by the bytes of files. `public`: no authentication, limited
 * by address. `page`: likewise, for browsers, which follow links to which others have added
 * parameters. `session`: needs a signed-in user, but no account.
 */
export type Access = AccessRule | "static" | "public" | "page" | "session";

/** A route's access as it declares it: a scope alone consumes one request, and has no own limit. */
export type DeclaredAccess = Access | Permission;

export const toAccess = (declared: DeclaredAccess): Access =>
  isScope(declared) ? { scope: declared, endpoint: null, cost: 1 } : declared;

/** Of all words only scopes have a colon. */
const isScope = (declared: DeclaredAccess): declared is Permission =>
  typeof declared === "string" && declared.includes(":");

/** The request that an authenticator checks; it fills in the call and sets response headers. */
export type AuthContext = {
  call: Call;
  request: Request;
  headers: ResponseHeaders;
};

/** Identifies the callers of a site. */
export abstract class Authenticator {
  /** Requests without a valid key or session, by network. */
  readonly anonymous = new NetworkWindow("anonymous_requests");

  /** Lets a request pass, or throws the reason to refuse it. */
  authenticate(context: AuthContext, access: Access): void | Promise<void> {
    const { call, headers } = context;
    if (access === "static") return this.anonymous.describe(call.address, headers);
    if (access === "public" || access === "page")
      return this.anonymous.enforce(call.address, headers);
    return this.identify(context, access);
  }

  /** Whether a request has credentials that worked a while ago, which costs no query. */
  isVerified(_headers: Headers): boolean {
    return false;
  }

  /** Identifies the caller, checks the scope, and consumes from the limits; throws as above. */
  protected abstract identify(context: AuthContext, access: AccessRule | "session"): Promise<void>;
}

/** A route of the finished app. */
export type DeclaredRoute = {
  method: string;
  path: string;
  hooks: { detail?: { security?: unknown; "x-optional-body"?: unknown } };
};

/**
 * Writes a route's access rule into its OpenAPI documentation, where {@link requireAccessRules}
 * reads it.
 */
export const accessDetail = (access: Access) => ({
  security:
    typeof access === "string" ? [] : [{ apiKey: access.scope === null ? [] : [access.scope] }],
});

/** Types OpenAPI extensions, which the framework's type of a route's documentation lacks. */
export const noted = (
  notes: Record<`x-${string}`, unknown> & { summary?: string },
): { summary?: string } => notes;

/** Throws, so that the process does not start, when a route declares no `access`. */
export function requireAccessRules(routes: readonly DeclaredRoute[]): void {
  const unguarded = routes.filter(({ hooks }) => hooks.detail?.security === undefined);
  if (unguarded.length === 0) return;
  const names = unguarded.map(({ method, path }) => `${method} ${path}`).join(", ");
  throw new Error(`Routes without an access rule: ${names}.`);
}

const VIEWER: readonly Permission[] = [
  "links:read",
  "analytics:read",
  "domains:read",
  "shares:read",
  "reports:read",
];

const MEMBER: readonly Permission[] = [
  ...VIEWER,
  "links:write",
  "links:delete",
  "domains:write",
  "shares:write",
  "webhooks:read",
  "reports:write",
  "members:read",
];

const PERMISSIONS: Readonly<Record<Role, readonly Permission[]>> = {
  viewer: VIEWER,
  member: MEMBER,
  owner: [
    ...MEMBER,
    "keys:read",
    "keys:write",
    "webhooks:write",
    "members:write",
    "events:read",
    "audit:read",
  ],
};

export const permissionsOf = (role: Role): readonly Permission[] => PERMISSIONS[role];
