/** What a caller may do. */
import type { Scope } from "../../shared/contracts/key-bodies.ts";

/** Scopes of API keys, and what a person may do beyond them, in the dashboard alone. */
export type Permission = Scope | "members:read" | "members:write";
