/** What a caller may do. */
import type { Scope } from "../../shared/contracts/key-schemas.ts";

/** Scopes of API keys, and permissions that only users of the dashboard can have. */
export type Permission = Scope | "members:read" | "members:write";
