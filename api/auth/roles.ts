/**
 * The permissions of each role. An owner runs the account; a member works in it; a viewer reads.
 */
import type { Scope } from "../../shared/contracts/key-schemas.ts";
import type { Role } from "../../shared/contracts/users.ts";

/** Scopes of API keys, and permissions that only dashboard users can have. */
export type Permission = Scope | "members:read" | "members:write";

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
