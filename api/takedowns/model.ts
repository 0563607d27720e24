/** Kinds of takedowns that cover many links. */
export type TakedownKind = "account" | "host";

/**
 * A takedown, and when it was created. The subject of an account is its UUID, that of a host the
 * host in lower case.
 */
export type Takedown = { kind: TakedownKind; subject: string; created_at: Date };
