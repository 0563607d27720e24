/** No route without a rule of who may call it. */

import type { AccessRule } from "./authorize.ts";

type Route = { method: string; path: string; hooks: { detail?: { security?: unknown } } };

/** What a route's access rule adds to its documentation, which is also where it is found again. */
export const accessDetail = ({ scope }: AccessRule) => ({
  security: [{ apiKey: scope === null ? [] : [scope] }],
});

/** Throws, so that the process does not start, when a route declares no `access`. */
export function requireAccessRules(routes: readonly Route[]): void {
  const open = routes.filter(({ hooks }) => hooks.detail?.security === undefined);
  if (open.length === 0) return;
  const names = open.map(({ method, path }) => `${method} ${path}`).join(", ");
  throw new Error(`Routes without an access rule: ${names}.`);
}
