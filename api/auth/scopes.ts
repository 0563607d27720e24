/** Permissions of callers. */
import type { Scope } from "../../shared/contracts/key-schemas.ts";

/** Scopes of API keys, and permissions that only dashboard users can have. */
export type Permission = Scope | "members:read" | "members:write";
