/** `shorthop admin accounts …`: manages accounts and their plans. */
import { availableParallelism } from "node:os";

import { type Command, Option } from "commander";

import { type AccountLimits, AccountService, PLANS } from "../../api/accounts/service.ts";
import { KeyService } from "../../api/keys/service.ts";
import { sumLoads } from "../../api/limits/budgets-page.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { parseCount, parseId, parseLimits, parseName } from "../arguments.ts";
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
