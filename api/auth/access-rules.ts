/** No route without a rule of who may call it. */

import type { AccessRule } from "./authorize.ts";

/**
 * `public` is for whoever comes, within the limit of an address; `session` for whoever has signed in,
 * whatever their accounts.
 */
export type Access = AccessRule | "public" | "session";

type Route = { method: string; path: string; hooks: { detail?: { security?: unknown } } };

/** What a route's access rule adds to its documentation, which is also where it is found again. */
export const accessDetail = (access: Access) => ({
  security:
    typeof access === "string" ? [] : [{ apiKey: access.scope === null ? [] : [access.scope] }],
});

/** Members of a route's documentation that the framework's type does not know. */
export const noted = (
  notes: Record<`x-${string}`, unknown> & { summary?: string },
): { summary?: string } => notes;

/** Throws, so that the process does not start, when a route declares no `access`. */
export function requireAccessRules(routes: readonly Route[]): void {
  const open = routes.filter(({ hooks }) => hooks.detail?.security === undefined);
  if (open.length === 0) return;
  const names = open.map(({ method, path }) => `${method} ${path}`).join(", ");
  throw new Error(`Routes without an access rule: ${names}.`);
}
