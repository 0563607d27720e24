/** The demo account and user of a local stack, so that a first visitor need not create them. */
import type { Mode } from "../shared/contracts/link-record.ts";
import { AccountService } from "./accounts/service.ts";
import { KeyService } from "./keys/service.ts";
import { MemberService } from "./members/service.ts";
import { usePostgres } from "./postgres.ts";
import { UserService } from "./sessions/users.ts";

const DEMO = "Demo";

/** Creates a demo account with a key of every scope for each mode; returns the keys. */
export const addDemoAccount = (databaseUrl: string): Promise<Record<Mode, string>> =>
  usePostgres(databaseUrl, async (sql) => {
    const accountId = await new AccountService(sql).create(DEMO, "business", {});
    const keys = new KeyService(sql);
    const live = await keys.createFirst(accountId);
    const test = await keys.createFirst(accountId, "test");
    return { live: live.key, test: test.key };
  });

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
