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
import { mustExist, runOnDatabase } from "../output.ts";
import { addDataRightsCommands } from "./data-rights.ts";

type Terms = { plan: (typeof PLANS)[number]; limits: AccountLimits };

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
  const create = accounts
    .command("create")
    .description("Create an account")
    .requiredOption("--name <name>", "the account's name", parseName)
    .addOption(planOption())
    .option("--limits <json>", "the account's own limits and quotas", parseLimits, {})
    .option("--key", "also create a live key with every scope; it is printed only once", false);
  runOnDatabase(
    installation,
    create,
    async (sql, options: Terms & { name: string; key: boolean }) => {
      const id = await new AccountService(sql).create(options.name, options.plan, options.limits);
      const created = options.key ? await new KeyService(sql).createFirst(id) : undefined;
      return {
        id: encodeId("acct", id),
        plan: options.plan,
        ...(created === undefined ? {} : { key: created.key }),
      };
    },
  );
}

function addList(accounts: Command, installation: Installation): void {
  const list = accounts.command("list").description("List all accounts");
  runOnDatabase(installation, list, async (sql) => {
    const rows = await new AccountService(sql).list();
    return rows.map(({ id, ...row }) => ({ id: encodeId("acct", id), ...row }));
  });
}

function addBudgets(accounts: Command, installation: Installation): void {
  const budgets = accounts
    .command("budgets")
    .description("What all accounts together may take of this machine, by plan (docs/budgets.md)");
  runOnDatabase(installation, budgets, async (sql) => {
    const plans = (await new AccountService(sql).list()).map(({ plan }) => plan);
    return sumLoads(plans, availableParallelism());
  });
}

function addChanges(accounts: Command, installation: Installation): void {
  const setPlan = accounts
    .command("set-plan")
    .description("Change an account's plan; takes effect with its next request")
    .argument("<id>", "the account's id (acct_…)", parseId("acct"))
    .addOption(planOption())
    .option("--limits <json>", "the account's own limits and quotas", parseLimits, {});
  runOnDatabase(installation, setPlan, async (sql, id: Uuid, options: Terms) => {
    const { plan, limits } = options;
    mustExist(await new AccountService(sql).setPlan(id, plan, limits), "account");
    return { id: encodeId("acct", id), plan };
  });

  const suspend = accounts
    .command("suspend")
    .description("Suspend an account's access to the API; its links still redirect")
    .argument("<id>", "the account's id (acct_…)", parseId("acct"))
    .option(
      "--minutes <n>",
      "duration of the suspension; 0 lifts it (default: until lifted)",
      parseCount,
    );
  runOnDatabase(installation, suspend, async (sql, id: Uuid, options: { minutes?: number }) => {
    mustExist(await new AccountService(sql).suspend(id, options.minutes), "account");
    return { id: encodeId("acct", id), suspended: options.minutes !== 0 };
  });
}

type NewKey = {
  account: Uuid;
  name: string;
  type: "live" | "test";
  scopes: Scope[];
  expires?: Date;
  networks?: string;
};

export function addKeyCommands(program: Command, installation: Installation): void {
  const keys = program.command("keys").description("API keys");

  const create = keys
    .command("create")
    .description("Create an API key; its value is printed only once")
    .requiredOption("--account <id>", "the account (acct_…)", parseId("acct"))
    .requiredOption("--name <name>", "what the key is for", parseName)
    .addOption(
      new Option("--type <type>", "live or test").choices(["live", "test"]).default("live"),
    )
    .requiredOption("--scopes <list>", `comma-separated: ${SCOPES.join(", ")}`, parseScopes)
    .option("--expires <instant>", "when the key expires", parseInstant)
    .option("--networks <list>", "comma-separated CIDR blocks in which it works, only there");
  runOnDatabase(installation, create, async (sql, options: NewKey) => {
    const { row, key } = await new KeyService(sql).createAny({
      accountId: options.account,
      name: options.name,
      mode: options.type,
      scopes: options.scopes,
      expiresAt: options.expires ?? null,
      allowedNetworks: options.networks?.split(",") ?? [],
    });
    return { id: encodeId("key", row.id), key };
  });

  const list = keys
    .command("list")
    .description("List an account's keys, without their values")
    .requiredOption("--account <id>", "the account (acct_…)", parseId("acct"));
  runOnDatabase(installation, list, async (sql, options: { account: Uuid }) => {
    const rows = await new KeyService(sql).listAll(options.account);
    return rows.map(toKeyResponse);
  });

  const revoke = keys
    .command("revoke")
    .description("Revoke an API key; takes effect with its next request")
    .argument("<id>", "the key's id (key_…)", parseId("key"));
  runOnDatabase(installation, revoke, async (sql, id: Uuid) => {
    mustExist(await new KeyService(sql).revokeAny(id), "key");
    return { id: encodeId("key", id), revoked: true };
  });

  const rotate = keys
    .command("rotate")
    .description("Replace an API key; the new value is printed only once")
    .argument("<id>", "the key's id (key_…)", parseId("key"))
    .option("--grace <seconds>", "how long the old key stays valid", parseCount, DAY_SECONDS);
  runOnDatabase(installation, rotate, async (sql, id: Uuid, options: { grace: number }) => {
    const { row, key } = await new KeyService(sql).rotateAny(id, options.grace);
    return { id: encodeId("key", row.id), key };
  });
}
