/** `shorthop admin users …`: manages the users of the dashboard. */
import { randomBytes } from "node:crypto";

import { type Command, Option } from "commander";

import { recordOfUser } from "../../api/events/record.ts";
import { OPERATOR } from "../../api/http/principal.ts";
import { readOrigins } from "../../api/mail/settings.ts";
import { MemberService } from "../../api/members/service.ts";
import { resetPath } from "../../api/sessions/resets.ts";
import { UserService } from "../../api/sessions/users.ts";
import {
  email as emailSchema,
  newPassword,
  type Role,
  ROLES,
} from "../../shared/contracts/users.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { parseBySchema, parseId, parseName } from "../arguments.ts";
import type { Installation } from "../installation.ts";
import { mustExist, runOnDatabase } from "../output.ts";

type NewUser = {
  email: string;
  name: string;
  account?: Uuid;
  role: Role;
  passwordStdin: boolean;
};

const parseEmail = parseBySchema(emailSchema);

const roleOption = () =>
  new Option("--role <role>", "the user's role in the account").choices(ROLES).default("owner");

export function addUserCommands(program: Command, installation: Installation): void {
  const users = program.command("users").description("Users of the dashboard");
  addCreation(users, installation);
  addList(users, installation);
  addPassword(users, installation);
  addResetLink(users, installation);
  addSecondFactorRemoval(users, installation);
  addJoining(users, installation);
  addRemoval(users, installation);
}

function addCreation(users: Command, installation: Installation): void {
  const create = users
    .command("create")
    .description("Create a user; a generated password is printed only once")
    .requiredOption("--email <address>", "the user's e-mail address, used to sign in", parseEmail)
    .requiredOption("--name <name>", "the user's name", parseName)
    .option("--account <id>", "an account to join (acct_…)", parseId("acct"))
    .addOption(roleOption())
    .option("--password-stdin", "read the password from standard input", false);
  runOnDatabase(installation, create, async (sql, options: NewUser) => {
    const users = UserService.forOperators(sql);
    const members = new MemberService(sql, users);
    const { email, name, account, role } = options;
    // Checked first, so that no user without an account is created.
    if (account !== undefined) await members.requireAccount(account);
    const { password, shown } = await choosePassword(options.passwordStdin);
    const id = await members.createProven({ email, name, password });
    if (account !== undefined) await members.add(account, id, role);
    else await sql.begin((sql) => recordOfUser(sql, id, OPERATOR, "user.created"));
    return { id: encodeId("user", id), email, ...shown };
  });
}

function addList(users: Command, installation: Installation): void {
  const list = users.command("list").description("List all users with their accounts");
  runOnDatabase(installation, list, async (sql) => {
    const rows = await UserService.forOperators(sql).list();
    return rows.map(({ id, account_ids, ...row }) => ({
      id: encodeId("user", id),
      ...row,
      accounts: account_ids.map((account) => encodeId("acct", account)),
    }));
  });
}

function addPassword(users: Command, installation: Installation): void {
  const setPassword = users
    .command("set-password")
    .description("Set a user's password and end all their sessions")
    .requiredOption("--email <address>", "the user's e-mail address", parseEmail)
    .option("--password-stdin", "read the password from standard input", false);
  runOnDatabase(
    installation,
    setPassword,
    async (sql, options: { email: string; passwordStdin: boolean }) => {
      const { password, shown } = await choosePassword(options.passwordStdin);
      mustExist(await UserService.forOperators(sql).setPassword(options.email, password), "user");
      return { email: options.email, ...shown };
    },
  );
}

function addResetLink(users: Command, installation: Installation): void {
  const resetLink = users
    .command("reset-link")
    .description("Make a link with which a user sets a new password; it is printed only once")
    .requiredOption("--email <address>", "the user's e-mail address", parseEmail);
  runOnDatabase(installation, resetLink, async (sql, options: { email: string }) => {
    const members = new MemberService(sql, UserService.forOperators(sql));
    // Before the link is made, which without an address would be of no use.
    const { dashboardUrl } = readOrigins({
      DASHBOARD_URL: await installation.findUrl("DASHBOARD_URL"),
    });
    const reset = await members.makeOperatorReset(options.email);
    mustExist(reset !== undefined, "user");
    return {
      email: options.email,
      url: `${dashboardUrl}${resetPath(reset.token)}`,
      expires_at: reset.expires_at.toISOString(),
    };
  });
}

function addSecondFactorRemoval(users: Command, installation: Installation): void {
  const removeSecondFactor = users
    .command("remove-second-factor")
    .description("Let a user who has lost it sign in without a second factor; ends their sessions")
    .requiredOption("--email <address>", "the user's e-mail address", parseEmail);
  runOnDatabase(installation, removeSecondFactor, async (sql, options: { email: string }) => {
    const removed = await UserService.forOperators(sql).removeSecondFactor(options.email);
    mustExist(removed, "user with a second factor");
    return { email: options.email, second_factor: false };
  });
}

function addJoining(users: Command, installation: Installation): void {
  const join = users
    .command("join")
    .description("Add a user to an account, or change their role")
    .requiredOption("--email <address>", "the user's e-mail address", parseEmail)
    .requiredOption("--account <id>", "the account (acct_…)", parseId("acct"))
    .addOption(roleOption());
  runOnDatabase(
    installation,
    join,
    async (sql, options: { email: string; account: Uuid; role: Role }) => {
      const users = UserService.forOperators(sql);
      const id = await users.findByEmail(options.email);
      mustExist(id !== undefined, "user");
      const members = new MemberService(sql, users);
      await members.requireAccount(options.account);
      const verified = await users.isVerified(id);
      // Printed to standard error, so that standard output stays JSON.
      if (!verified) console.error(unverifiedWarning(options.email));
      await members.add(options.account, id, options.role);
      const { email, role } = options;
      return { email, role, email_verified: verified };
    },
  );
}

function addRemoval(users: Command, installation: Installation): void {
  const remove = users
    .command("remove")
    .description("Delete the user of an e-mail address; links and keys stay with the account")
    .requiredOption("--email <address>", "the user's e-mail address", parseEmail);
  runOnDatabase(installation, remove, async (sql, options: { email: string }) => {
    const members = new MemberService(sql, UserService.forOperators(sql));
    mustExist(await members.removeUser(options.email), "user");
    return { email: options.email, removed: true };
  });
}

const unverifiedWarning = (email: string): string =>
  `Warning: nobody has verified that ${email} belongs to this user, who was invited. ` +
  "Confirm with the person, or create a user for them (users create), in place of this one.";

/** Reads the password from standard input, or generates one, which must then be shown. */
async function choosePassword(fromStdin: boolean) {
  if (fromStdin) {
    const text = (await Bun.stdin.text()).replace(/\r?\n$/, "");
    const { data, error } = newPassword.safeParse(text);
    if (data === undefined) throw new Error(`The password ${error?.issues[0]?.message}.`);
    return { password: data, shown: {} };
  }
  const password = randomBytes(18).toString("base64url");
  return { password, shown: { password } };
}
