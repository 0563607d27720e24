/** Records sign-ins in the ledger, however they are made. */
import type { Uuid } from "../../shared/ids.ts";
import { recordOfUser } from "../events/record.ts";
import type { Actor, Origin } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";

type SignIn = { userId: Uuid | undefined; method: string; origin: Origin };

/** A user as the actor of what they do from somewhere. */
export const userActor = (id: Uuid, origin: Origin): Actor => ({ type: "user", id, origin });

/**
 * Records a sign-in before the browser gets the session's token, or a refused one. As nobody, it is
 * counted by day (UTC), as strangers can make any number of them; that takes as long. It is not in
 * the transaction of the session: the library's are on connections of its own, on which no
 * statement of the ledger runs. A process that ends in between leaves a session whose token nobody
 * has.
 */
export const recordSignIn = (
  sql: Sql,
  type: "session.started" | "session.refused",
  { userId, method, origin }: SignIn,
): Promise<void> =>
  sql.begin(async (transaction) => {
    if (userId === undefined)
      await transaction`
        insert into unknown_sign_ins as counted (day, count) values ((now() at time zone 'utc')::date, 1)
        on conflict (day) do update set count = counted.count + 1`;
    else await recordOfUser(transaction, userId, userActor(userId, origin), type, { method });
  });

/** Records what a user has done to how they sign in. */
export const recordOwn = (
  sql: Sql,
  type: "user.password_changed" | "user.second_factor_changed",
  { userId, origin, change }: { userId: Uuid; origin: Origin; change: string },
): Promise<void> =>
  sql.begin((transaction) =>
    recordOfUser(transaction, userId, userActor(userId, origin), type, { change }),
  );
