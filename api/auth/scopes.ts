/** What a key may do. */
export const SCOPES = [
  "links:read",
  "links:write",
  "links:delete",
  "analytics:read",
  "domains:read",
  "domains:write",
  "keys:read",
  "keys:write",
] as const;

export type Scope = (typeof SCOPES)[number];
