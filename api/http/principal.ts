/** Who a request comes from, and whose data it may touch. */
import type { Mode } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";

/** The account and mode that data belongs to: live and test data of one account never meet. */
export type AccountScope = { accountId: Uuid; mode: Mode };

/** An authenticated caller. */
export type Principal = AccountScope & {
  /** The id of the API key, or of the dashboard session. */
  callerId: Uuid;
  scopes: readonly string[];
  plan: string;
};

export type User = { id: Uuid; email: string; name: string };

/** A user who is signed in to the dashboard. */
export type Session = { id: Uuid; user: User };
