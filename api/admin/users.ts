/** `shorthop admin users …` */
import { randomBytes } from "node:crypto";

import { type Command, Option } from "commander";

import {
  email as emailSchema,
  newPassword,
  type Role,
  ROLES,
} from "../../shared/contracts/people.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { createMemberService } from "../members/service.ts";
import type { Sql } from "../postgres.ts";
import { openAuthLibrary } from "../sessions/library.ts";
import { createUserService } from "../sessions/users.ts";
import { parseBy, parseId, parseName } from "./arguments.ts";
import { mustExist, print, printList, type WithDatabase } from "./run.ts";

type CreateOptions = {
  email: string;
  name: string;
  account?: Uuid;
  role: Role;
  passwordStdin: boolean;
  json: boolean;
};

const parseEmail = parseBy(emailSchema);

const roleOption = () =>
  new Option("--role <role>", "what they may do there").choices(ROLES).default("owner");

/** No cookie is made or read here, so the library needs no address and no secret that lasts. */
const usersOf = (sql: Sql) =>
  createUserService({
    sql,
    library: openAuthLibrary(sql, "http://localhost", randomBytes(32).toString("hex")),
  });

export function addUserCommands(program: Command, withDatabase: WithDatabase): void {
  const users = program.command("users").description("People who sign in to the dashboard");

  users
    .command("create")
    .description("Make somebody who can sign in; a generated password is printed this once")
    .requiredOption("--email <address>", "what they sign in with", parseEmail)
    .requiredOption("--name <name>", "what they are called", parseName)
    .option("--account <id>", "an account they belong to (acct_…)", parseId("acct"))
    .addOption(roleOption())
    .option("--password-stdin", "read the password from standard input", false)
    .option("--json", "print JSON", false)
    .action((options: CreateOptions) =>
      withDatabase(async (sql) => {
        const users = usersOf(sql);
        const members = createMemberService({ sql, users });
        const { email, name, account, role } = options;
        // Nobody is made who would then belong nowhere.
        if (account !== undefined) await members.requireAccount(account);
        const { password, shown } = await choosePassword(options.passwordStdin);
        const id = await users.create({ email, name, password });
        if (account !== undefined) await members.add(account, id, role);
        print(options.json, { id: encodeId("user", id), email, ...shown });
      }),
    );

  users
    .command("list")
    .description("Show everybody, with their accounts")
    .option("--json", "print JSON", false)
    .action((options: { json: boolean }) =>
      withDatabase(async (sql) => {
        const rows = await usersOf(sql).list();
        printList(
          options.json,
          rows.map(({ id, account_ids, ...row }) => ({
            id: encodeId("user", id),
            ...row,
            accounts: account_ids.map((account) => encodeId("acct", account)),
          })),
        );
      }),
    );

  users
    .command("set-password")
    .description("Give somebody a new password; they are signed out everywhere")
    .requiredOption("--email <address>", "whom", parseEmail)
    .option("--password-stdin", "read the password from standard input", false)
    .option("--json", "print JSON", false)
    .action((options: { email: string; passwordStdin: boolean; json: boolean }) =>
      withDatabase(async (sql) => {
        const { password, shown } = await choosePassword(options.passwordStdin);
        mustExist(await usersOf(sql).setPassword(options.email, password), "user");
        print(options.json, { email: options.email, ...shown });
      }),
    );

  users
    .command("join")
    .description("Make somebody a member of an account, or change their role there")
    .requiredOption("--email <address>", "whom", parseEmail)
    .requiredOption("--account <id>", "the account (acct_…)", parseId("acct"))
    .addOption(roleOption())
    .option("--json", "print JSON", false)
    .action((options: { email: string; account: Uuid; role: Role; json: boolean }) =>
      withDatabase(async (sql) => {
        const users = usersOf(sql);
        const id = await users.findByEmail(options.email);
        mustExist(id !== undefined, "user");
        if (id === undefined) return;
        const members = createMemberService({ sql, users });
        await members.requireAccount(options.account);
        await members.add(options.account, id, options.role);
        print(options.json, { email: options.email, role: options.role });
      }),
    );

  users
    .command("remove")
    .description("Remove somebody; their links and keys stay with the account")
    .requiredOption("--email <address>", "whom", parseEmail)
    .option("--json", "print JSON", false)
    .action((options: { email: string; json: boolean }) =>
      withDatabase(async (sql) => {
        mustExist(await usersOf(sql).remove(options.email), "user");
        print(options.json, { email: options.email, removed: true });
      }),
    );
}

/** The password that was given, or a new one, which then has to be shown. */
async function choosePassword(given: boolean) {
  if (given) {
    const read = (await Bun.stdin.text()).replace(/\r?\n$/, "");
    const { data, error } = newPassword.safeParse(read);
    if (data === undefined) throw new Error(`The password ${error?.issues[0]?.message}.`);
    return { password: data, shown: {} };
  }
  const password = randomBytes(18).toString("base64url");
  return { password, shown: { password } };
}
