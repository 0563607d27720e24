/** The first account with its key and its user, so that somebody can sign in. */
import { randomBytes } from "node:crypto";

import { AccountService } from "../../../api/accounts/service.ts";
import { KeyService } from "../../../api/keys/service.ts";
import { MemberService } from "../../../api/members/service.ts";
import type { Sql } from "../../../api/postgres.ts";
import { UserService } from "../../../api/sessions/users.ts";
import type { Uuid } from "../../../shared/ids.ts";
import type { Settings } from "./settings.ts";
import type { Change, Step } from "./step.ts";

/** The plan without the limits of a customer: the first account is the operator's own. */
const PLAN = "enterprise";

const PASSWORD_BYTES = 18;

/** What exists only now, and is shown once: also the counts of a restored backup. */
export type Created = { key?: string; password?: string; restored?: string };

/** Runs `work` on the database. */
type WithSql = <T>(work: (sql: Sql) => Promise<T>) => Promise<T>;

/**
 * A step that makes an account when there is none. A key and a user are part of it: while it is the
 * only account they are made when they are missing, as after a run that was killed between. What is
 * made is put into `created`. `isReady` says whether the tables exist, which they do not in a dry
 * run on a fresh host.
 */
export const firstAccountStep = (
  { ACCOUNT, EMAIL }: Settings,
  isReady: () => Promise<boolean>,
  withSql: WithSql,
  created: Created,
): Step => ({
  name: "first account",
  async inspect() {
    const create: Change = {
      title: `create the account ${ACCOUNT} on the plan ${PLAN}, with a key, and the user ${EMAIL}`,
      apply: () =>
        withSql(async (sql) => {
          const id = await new AccountService(sql).create(ACCOUNT, PLAN, {});
          await createKey(sql, id, created);
          await createOwner(sql, id, EMAIL, created);
        }),
    };
    if (!(await isReady())) return [create];
    const found = await withSql(readFirstAccount);
    if (found === undefined) return [create];
    const { id, name, isOnly, hasKey, hasUser } = found;
    if (!isOnly || name !== ACCOUNT) return [];
    const key: Change = {
      title: "create a key of the account",
      apply: () => withSql((sql) => createKey(sql, id, created)),
    };
    const user: Change = {
      title: `create the user ${EMAIL}`,
      apply: () => withSql((sql) => createOwner(sql, id, EMAIL, created)),
    };
    return [...(hasKey ? [] : [key]), ...(hasUser ? [] : [user])];
  },
});

/** The account that was made first, and what there is of it; undefined without one. */
async function readFirstAccount(sql: Sql) {
  const [account, ...others] = await new AccountService(sql).list();
  if (account === undefined) return undefined;
  const keys = await new KeyService(sql).listAll(account.id);
  const users = await UserService.forOperators(sql).list();
  const { id, name } = account;
  const isOnly = others.length === 0;
  return { id, name, isOnly, hasKey: keys.length > 0, hasUser: users.length > 0 };
}

async function createKey(sql: Sql, account: Uuid, created: Created): Promise<void> {
  created.key = (await new KeyService(sql).createFirst(account)).key;
}

async function createOwner(
  sql: Sql,
  account: Uuid,
  email: string,
  created: Created,
): Promise<void> {
  const users = UserService.forOperators(sql);
  const password = randomBytes(PASSWORD_BYTES).toString("base64url");
  const id = await users.create({ email, name: email.split("@")[0] ?? email, password });
  await users.markVerified(id);
  await new MemberService(sql, users).add(account, id, "owner");
  created.password = password;
}
