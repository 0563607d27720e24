/** The demo account and user of a local stack, so that a first visitor need not create them. */
import type { Mode } from "../shared/contracts/link-record.ts";
import { encodeId, type Uuid } from "../shared/ids.ts";
import { AccountService } from "./accounts/service.ts";
import { KeyService } from "./keys/service.ts";
import { MemberService } from "./members/service.ts";
import { type Sql, usePostgres } from "./postgres.ts";
import { UserService } from "./sessions/users.ts";

const DEMO = "Demo";

/** The id of the demo account, which is created unless there is one. */
export const ensureDemoAccount = (databaseUrl: string): Promise<string> =>
  usePostgres(databaseUrl, async (sql) => encodeId("acct", await findOrCreate(sql)));

/** Creates a key of every scope for each mode of the demo account, which is created if need be. */
export const addDemoKeys = (databaseUrl: string): Promise<Record<Mode, string>> =>
  usePostgres(databaseUrl, async (sql) => {
    const accountId = await findOrCreate(sql);
    const keys = new KeyService(sql);
    const live = await keys.createFirst(accountId);
    const test = await keys.createFirst(accountId, "test");
    return { live: live.key, test: test.key };
  });

async function findOrCreate(sql: Sql): Promise<Uuid> {
  const accounts = new AccountService(sql);
  const known = (await accounts.list()).find(({ name }) => name === DEMO);
  return known?.id ?? (await accounts.create(DEMO, "business", {}));
}

/**
 * Ensures that a user with this e-mail address and password exists, and owns every demo account.
 */
export const ensureDemoUser = (databaseUrl: string, email: string, password: string) =>
  usePostgres(databaseUrl, async (sql) => {
    const users = UserService.forOperators(sql);
    if (!(await users.setPassword(email, password)))
      await users.markVerified(await users.create({ email, name: DEMO, password }));
    const id = await users.findByEmail(email);
    if (id === undefined) throw new Error(`The user ${email} was deleted meanwhile.`);
    const members = new MemberService(sql, users);
    const accounts = await new AccountService(sql).list();
    for (const account of accounts.filter(({ name }) => name === DEMO))
      await members.add(account.id, id, "owner");
  });
