/** Every route declares an access rule: who may call it, and what a request consumes. */
import type { EndpointLimit } from "../limits/quotas.ts";
import type { Permission } from "./scopes.ts";

export type AccessRule = {
  /** The required scope; null for none. */
  scope: Permission | null;
  /** The endpoint's own rate-limit window; null for none. */
  limit: EndpointLimit | null;
  /** How many requests the call consumes: 1, or 0 to read the state of the limits. */
  cost: 0 | 1;
  /** Whether a call may take many times as long as others; a process that is behind refuses it. */
  expensive?: boolean;
};

/**
 * `static`: no authentication, limited by the bytes of files. `public`: no authentication, limited
 * by address. `session`: needs a signed-in user, but no account.
 */
export type Access = AccessRule | "static" | "public" | "session";

type Route = { method: string; path: string; hooks: { detail?: { security?: unknown } } };

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
export function requireAccessRules(routes: readonly Route[]): void {
  const unguarded = routes.filter(({ hooks }) => hooks.detail?.security === undefined);
  if (unguarded.length === 0) return;
  const names = unguarded.map(({ method, path }) => `${method} ${path}`).join(", ");
  throw new Error(`Routes without an access rule: ${names}.`);
}
