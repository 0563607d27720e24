/** The caller of a request, and the data it may access. */
import type { Mode } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";

/** The account and mode that data belongs to. An account's live and test data are separate. */
export type AccountScope = { accountId: Uuid; mode: Mode };

/** From where a change is made: the /24 or /48 of the client's address, and the request's id. */
export type Origin = { network: string; request_id: string };

/** Who causes a change, as events of the ledger say; the origin only of what a request causes. */
export type Actor = (
  | { type: "api_key" | "user"; id: Uuid }
  /** The operator's command line, or Shorthop itself as time passes. */
  | { type: "operator" | "system" }
) & { origin?: Origin };

export const OPERATOR = { type: "operator" } as const satisfies Actor;

export const SYSTEM = { type: "system" } as const satisfies Actor;

/** The owner of data, and who changes it. */
export type Author = AccountScope & { actor: Actor };

/** As {@link Author}. The plan says how much work the account may cause. */
export type Writer = Author & { plan: string };

/** An authenticated caller. */
export type Principal = Author & {
  /** The id of the API key, or of the dashboard session. */
  callerId: Uuid;
  scopes: readonly string[];
  plan: string;
};

/** Throws what a new request of the caller would, if the route is no longer theirs to call. */
export type Confirm = () => Promise<void>;

export type User = { id: Uuid; email: string; name: string };

/** A user who is signed in to the dashboard. */
export type Session = { id: Uuid; user: User };
