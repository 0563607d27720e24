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

type WithSql = <T>(work: (sql: Sql) => Promise<T>) => Promise<T>;

type Deps = {
  /** Whether the tables exist, which they do not in a dry run on a fresh host. */
  isReady: () => Promise<boolean>;
  withSql: WithSql;
  created: Created;
};

/**
 * A step that makes an account when there is none. A key and a user are part of it: while it is the
 * only account they are made when they are missing, as after a run that was killed between. What is
 * made is put into `created`.
 */
export const firstAccountStep = (
  { ACCOUNT, EMAIL }: Settings,
  { isReady, withSql, created }: Deps,
): Step => ({
  name: "first account",
  async inspect() {
    const create: Change = {
      title: `create the account ${ACCOUNT} on the plan ${PLAN}, with a key, and the user ${EMAIL}`,
      apply: () => withSql((sql) => createAll(sql, { ACCOUNT, EMAIL }, created)),
    };
    if (!(await isReady())) return [create];
    return await withSql(async (sql) => {
      const [account, ...others] = await new AccountService(sql).list();
      if (account === undefined) return [create];
      if (others.length > 0 || account.name !== ACCOUNT) return [];
      return await inspectParts(sql, account.id, EMAIL, { withSql, created });
    });
  },
});

async function createAll(
  sql: Sql,
  { ACCOUNT, EMAIL }: Pick<Settings, "ACCOUNT" | "EMAIL">,
  created: Created,
): Promise<void> {
  const id = await new AccountService(sql).create(ACCOUNT, PLAN, {});
  await createKey(sql, id, created);
  await createOwner(sql, id, EMAIL, created);
}

/** Of an account that a run made which did not come to its end. */
async function inspectParts(
  sql: Sql,
  id: Uuid,
  email: string,
  { withSql, created }: { withSql: WithSql; created: Created },
): Promise<Change[]> {
  const keys = await new KeyService(sql).listAll(id);
  const users = await UserService.forOperators(sql).list();
  return [
    ...(keys.length > 0
      ? []
      : [
          {
            title: "create a key of the account",
            apply: () => withSql((sql) => createKey(sql, id, created)),
          },
        ]),
    ...(users.length > 0
      ? []
      : [
          {
            title: `create the user ${email}`,
            apply: () => withSql((sql) => createOwner(sql, id, email, created)),
          },
        ]),
  ];
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
