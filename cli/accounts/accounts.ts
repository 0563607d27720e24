/** `shorthop admin accounts …` and `keys …`: manages accounts, their plans and their API keys. */
import { availableParallelism } from "node:os";

import { type Command, Option } from "commander";

import { type AccountLimits, AccountService, PLANS } from "../../api/accounts/service.ts";
import { KeyService, toKeyResponse } from "../../api/keys/service.ts";
import { sumLoads } from "../../api/limits/budgets-page.ts";
import { type Scope, SCOPES } from "../../shared/contracts/key-schemas.ts";
import { DAY_SECONDS } from "../../shared/durations.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import {
  parseCount,
  parseId,
  parseInstant,
  parseLimits,
  parseName,
  parseScopes,
} from "../arguments.ts";
import type { Installation } from "../installation.ts";
import { mustExist, print, printList } from "../output.ts";
import { addDataRightsCommands } from "./data-rights.ts";

type Terms = { plan: (typeof PLANS)[number]; limits: AccountLimits; json: boolean };

const planOption = () =>
  new Option("--plan <plan>", "the account's plan").choices(PLANS).makeOptionMandatory();

export function addAccountCommands(program: Command, installation: Installation): void {
  const accounts = program.command("accounts").description("Customers and their plans");
  addCreation(accounts, installation);
  addList(accounts, installation);
  addBudgets(accounts, installation);
  addChanges(accounts, installation);
  addDataRightsCommands(accounts, installation);
}

function addCreation(accounts: Command, installation: Installation): void {
  accounts
    .command("create")
    .description("Create an account")
    .requiredOption("--name <name>", "the account's name", parseName)
    .addOption(planOption())
    .option("--limits <json>", "the account's own limits and quotas", parseLimits, {})
    .option("--key", "also create a live key with every scope; it is printed only once", false)
    .option("--json", "print JSON", false)
    .action((options: Terms & { name: string; key: boolean }) =>
      installation.withDatabase(async (sql) => {
        const id = await new AccountService(sql).create(options.name, options.plan, options.limits);
        const created = options.key ? await new KeyService(sql).createFirst(id) : undefined;
        print(options.json, {
          id: encodeId("acct", id),
          plan: options.plan,
          ...(created === undefined ? {} : { key: created.key }),
        });
      }),
    );
}

function addList(accounts: Command, installation: Installation): void {
  accounts
    .command("list")
    .description("List all accounts")
    .option("--json", "print JSON", false)
    .action((options: { json: boolean }) =>
      installation.withDatabase(async (sql) => {
        const rows = await new AccountService(sql).list();
        const accounts = rows.map(({ id, ...row }) => ({ id: encodeId("acct", id), ...row }));
        printList(options.json, accounts);
      }),
    );
}

function addBudgets(accounts: Command, installation: Installation): void {
  accounts
    .command("budgets")
    .description("What all accounts together may take of this machine, by plan (docs/budgets.md)")
    .option("--json", "print JSON", false)
    .action((options: { json: boolean }) =>
      installation.withDatabase(async (sql) => {
        const plans = (await new AccountService(sql).list()).map(({ plan }) => plan);
        printList(options.json, sumLoads(plans, availableParallelism()));
      }),
    );
}

function addChanges(accounts: Command, installation: Installation): void {
  accounts
    .command("set-plan")
    .description("Change an account's plan; takes effect with its next request")
    .argument("<id>", "the account's id (acct_…)", parseId("acct"))
    .addOption(planOption())
    .option("--limits <json>", "the account's own limits and quotas", parseLimits, {})
    .option("--json", "print JSON", false)
    .action((id: Uuid, options: Terms) =>
      installation.withDatabase(async (sql) => {
        const { plan, limits, json } = options;
        mustExist(await new AccountService(sql).setPlan(id, plan, limits), "account");
        print(json, { id: encodeId("acct", id), plan });
      }),
    );

  accounts
    .command("suspend")
    .description("Suspend an account's access to the API; its links still redirect")
    .argument("<id>", "the account's id (acct_…)", parseId("acct"))
    .option(
      "--minutes <n>",
      "duration of the suspension; 0 lifts it (default: until lifted)",
      parseCount,
    )
    .option("--json", "print JSON", false)
    .action((id: Uuid, options: { minutes?: number; json: boolean }) =>
      installation.withDatabase(async (sql) => {
        mustExist(await new AccountService(sql).suspend(id, options.minutes), "account");
        print(options.json, { id: encodeId("acct", id), suspended: options.minutes !== 0 });
      }),
    );
}

type NewKey = {
  account: Uuid;
  name: string;
  type: "live" | "test";
  scopes: Scope[];
  expires?: Date;
  networks?: string;
  json: boolean;
};

export function addKeyCommands(program: Command, installation: Installation): void {
  const keys = program.command("keys").description("API keys");

  keys
    .command("create")
    .description("Create an API key; its value is printed only once")
    .requiredOption("--account <id>", "the account (acct_…)", parseId("acct"))
    .requiredOption("--name <name>", "what the key is for", parseName)
    .addOption(
      new Option("--type <type>", "live or test").choices(["live", "test"]).default("live"),
    )
    .requiredOption("--scopes <list>", `comma-separated: ${SCOPES.join(", ")}`, parseScopes)
    .option("--expires <instant>", "when the key expires", parseInstant)
    .option("--networks <list>", "comma-separated CIDR blocks in which it works, only there")
    .option("--json", "print JSON", false)
    .action((options: NewKey) =>
      installation.withDatabase(async (sql) => {
        const { row, key } = await new KeyService(sql).createAny({
          accountId: options.account,
          name: options.name,
          mode: options.type,
          scopes: options.scopes,
          expiresAt: options.expires ?? null,
          allowedNetworks: options.networks?.split(",") ?? [],
        });
        print(options.json, { id: encodeId("key", row.id), key });
      }),
    );

  keys
    .command("list")
    .description("List an account's keys, without their values")
    .requiredOption("--account <id>", "the account (acct_…)", parseId("acct"))
    .option("--json", "print JSON", false)
    .action((options: { account: Uuid; json: boolean }) =>
      installation.withDatabase(async (sql) => {
        const rows = await new KeyService(sql).listAll(options.account);
        printList(options.json, rows.map(toKeyResponse));
      }),
    );

  keys
    .command("revoke")
    .description("Revoke an API key; takes effect with its next request")
    .argument("<id>", "the key's id (key_…)", parseId("key"))
    .option("--json", "print JSON", false)
    .action((id: Uuid, options: { json: boolean }) =>
      installation.withDatabase(async (sql) => {
        mustExist(await new KeyService(sql).revokeAny(id), "key");
        print(options.json, { id: encodeId("key", id), revoked: true });
      }),
    );

  keys
    .command("rotate")
    .description("Replace an API key; the new value is printed only once")
    .argument("<id>", "the key's id (key_…)", parseId("key"))
    .option("--grace <seconds>", "how long the old key stays valid", parseCount, DAY_SECONDS)
    .option("--json", "print JSON", false)
    .action((id: Uuid, options: { grace: number; json: boolean }) =>
      installation.withDatabase(async (sql) => {
        const { row, key } = await new KeyService(sql).rotateAny(id, options.grace);
        print(options.json, { id: encodeId("key", row.id), key });
      }),
    );
}
