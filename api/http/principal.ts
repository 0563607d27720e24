/** The caller of a request, and the data it may access. */
import type { Mode } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";

/** The account and mode that data belongs to. An account's live and test data are separate. */
export type AccountScope = { accountId: Uuid; mode: Mode };

/** The owner of data who changes it. The plan says how much work the account may cause. */
export type Writer = AccountScope & Pick<Principal, "plan">;

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
