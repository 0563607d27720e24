/**
 * The operator's command line. Results go to standard output, as JSON with `--json`; messages go to
 * standard error. Exit codes: 0 done, 1 failed, 2 wrong use.
 */
import { Command, InvalidArgumentError, Option } from "commander";

import { decodeId, encodeId, type IdKind, type Uuid } from "../../shared/ids.ts";
import {
  type AccountLimits,
  accountLimits,
  createAccountService,
  PLANS,
} from "../accounts/service.ts";
import { type Scope, SCOPES } from "../auth/scopes.ts";
import { createKeyService } from "../keys/service.ts";
import { openPostgres, type Sql } from "../postgres.ts";
import { findDatabaseUrl } from "./database.ts";

type CreateAccountOptions = {
  name: string;
  plan: (typeof PLANS)[number];
  limits: AccountLimits;
  key: boolean;
  json: boolean;
};

type CreateKeyOptions = {
  account: Uuid;
  name: string;
  type: "live" | "test";
  scopes: Scope[];
  json: boolean;
};

const program = new Command("shorthop admin")
  .description("Manage accounts and API keys.")
  .showHelpAfterError()
  .exitOverride();

const accounts = program.command("accounts").description("Customers and their plans");

accounts
  .command("create")
  .description("Open an account")
  .requiredOption("--name <name>", "the account's name", nonEmpty)
  .addOption(new Option("--plan <plan>", "the account's plan").choices(PLANS).makeOptionMandatory())
  .option("--limits <json>", "an enterprise account's own limits", parseLimits, {})
  .option("--key", "also make a live key with every scope", false)
  .option("--json", "print JSON", false)
  .action((options: CreateAccountOptions) =>
    withDatabase(async (sql) => {
      const own = Object.keys(options.limits).length > 0;
      if (own && options.plan !== "enterprise") {
        throw new Error("Only the enterprise plan takes limits of its own (--limits).");
      }
      const id = await createAccountService({ sql }).create(options);
      const made = options.key
        ? await createKeyService({ sql }).create({
            accountId: id,
            name: "First key",
            mode: "live",
            scopes: SCOPES,
          })
        : undefined;
      print(options.json, {
        id: encodeId("acct", id),
        plan: options.plan,
        ...(made === undefined ? {} : { key: made.key }),
      });
    }),
  );

const keys = program.command("keys").description("API keys");

keys
  .command("create")
  .description("Make an API key; its value is printed this once")
  .requiredOption("--account <id>", "the account (acct_…)", parseId("acct"))
  .requiredOption("--name <name>", "what the key is for", nonEmpty)
  .addOption(new Option("--type <type>", "live or test").choices(["live", "test"]).default("live"))
  .requiredOption("--scopes <list>", `comma-separated: ${SCOPES.join(", ")}`, parseScopes)
  .option("--json", "print JSON", false)
  .action((options: CreateKeyOptions) =>
    withDatabase(async (sql) => {
      const made = await createKeyService({ sql }).create({
        accountId: options.account,
        name: options.name,
        mode: options.type,
        scopes: options.scopes,
      });
      if (made === undefined) throw new Error("The account does not exist.");
      print(options.json, { id: encodeId("key", made.id), key: made.key });
    }),
  );

keys
  .command("revoke")
  .description("Revoke an API key from the next request on")
  .argument("<id>", "the key's id (key_…)", parseId("key"))
  .option("--json", "print JSON", false)
  .action((id: Uuid, options: { json: boolean }) =>
    withDatabase(async (sql) => {
      if (!(await createKeyService({ sql }).revoke(id))) throw new Error("The key does not exist.");
      print(options.json, { id: encodeId("key", id), revoked: true });
    }),
  );

async function withDatabase(work: (sql: Sql) => Promise<void>): Promise<void> {
  const sql = openPostgres(await findDatabaseUrl(process.env), 1);
  try {
    await work(sql);
  } finally {
    await sql.end({ timeout: 2 });
  }
}

function print(json: boolean, result: Record<string, string | boolean>): void {
  console.log(
    json
      ? JSON.stringify(result)
      : Object.entries(result)
          .map(([name, value]) => `${name}\t${value}`)
          .join("\n"),
  );
}

function nonEmpty(text: string): string {
  if (text.trim() === "") throw new InvalidArgumentError("It must not be empty.");
  return text.trim();
}

function parseId(kind: IdKind): (text: string) => Uuid {
  return (text) => {
    const uuid = decodeId(kind, text);
    if (uuid === undefined)
      throw new InvalidArgumentError(`It is not an id of the form ${kind}_….`);
    return uuid;
  };
}

function parseScopes(text: string): Scope[] {
  const names = text.split(",").map((name) => name.trim());
  return [...new Set(names)].map((name) => {
    const scope = SCOPES.find((known) => known === name);
    if (scope === undefined) throw new InvalidArgumentError(`"${name}" is not a scope.`);
    return scope;
  });
}

function parseLimits(text: string): AccountLimits {
  try {
    return accountLimits.parse(JSON.parse(text));
  } catch {
    throw new InvalidArgumentError(
      'It must be JSON such as {"minute":600,"day":50000,"burst":60,"endpoints":{"POST /v1/links":500}}.',
    );
  }
}

try {
  await program.parseAsync();
} catch (error) {
  // Commander has already told what was wrong with the use; its help exits are successes.
  if (error instanceof Error && "exitCode" in error) process.exit(error.exitCode === 0 ? 0 : 2);
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
