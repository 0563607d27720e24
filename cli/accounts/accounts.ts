/** `shorthop admin accounts …`: manages accounts and their plans. */
import { availableParallelism } from "node:os";

import { type Command, Option } from "commander";

import { type AccountLimits, PLANS } from "../../api/accounts/model.ts";
import { AccountService } from "../../api/accounts/service.ts";
import { KeyService } from "../../api/keys/service.ts";
import { sumLoads } from "../../api/limits/budgets-page.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { parseCount, parseId, parseLimits, parseName } from "../arguments.ts";
import { mustExist, print, printList, type WithDatabase } from "../context.ts";

type Plan = (typeof PLANS)[number];
type PlanOptions = { plan: Plan; limits: AccountLimits; json: boolean };

const planOption = () =>
  new Option("--plan <plan>", "the account's plan").choices(PLANS).makeOptionMandatory();

export function addAccountCommands(program: Command, withDatabase: WithDatabase): void {
  const accounts = program.command("accounts").description("Customers and their plans");
  addCreation(accounts, withDatabase);
  addList(accounts, withDatabase);
  addBudgets(accounts, withDatabase);
  addChanges(accounts, withDatabase);
}

function addCreation(accounts: Command, withDatabase: WithDatabase): void {
  accounts
    .command("create")
    .description("Create an account")
    .requiredOption("--name <name>", "the account's name", parseName)
    .addOption(planOption())
    .option("--limits <json>", "the account's own limits and quotas", parseLimits, {})
    .option("--key", "also create a live key with every scope; it is printed only once", false)
    .option("--json", "print JSON", false)
    .action((options: PlanOptions & { name: string; key: boolean }) =>
      withDatabase(async (sql) => {
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

function addList(accounts: Command, withDatabase: WithDatabase): void {
  accounts
    .command("list")
    .description("List all accounts")
    .option("--json", "print JSON", false)
    .action((options: { json: boolean }) =>
      withDatabase(async (sql) => {
        const rows = await new AccountService(sql).list();
        printList(
          options.json,
          rows.map(({ id, ...row }) => ({ id: encodeId("acct", id), ...row })),
        );
      }),
    );
}

function addBudgets(accounts: Command, withDatabase: WithDatabase): void {
  accounts
    .command("budgets")
    .description("What all accounts together may take of this machine, by plan (docs/budgets.md)")
    .option("--json", "print JSON", false)
    .action((options: { json: boolean }) =>
      withDatabase(async (sql) => {
        const rows = await new AccountService(sql).list();
        printList(
          options.json,
          sumLoads(
            rows.map(({ plan }) => plan),
            availableParallelism(),
          ),
        );
      }),
    );
}

function addChanges(accounts: Command, withDatabase: WithDatabase): void {
  accounts
    .command("set-plan")
    .description("Change an account's plan; takes effect with its next request")
    .argument("<id>", "the account's id (acct_…)", parseId("acct"))
    .addOption(planOption())
    .option("--limits <json>", "the account's own limits and quotas", parseLimits, {})
    .option("--json", "print JSON", false)
    .action((id: Uuid, options: PlanOptions) =>
      withDatabase(async (sql) => {
        mustExist(
          await new AccountService(sql).setPlan(id, options.plan, options.limits),
          "account",
        );
        print(options.json, { id: encodeId("acct", id), plan: options.plan });
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
      withDatabase(async (sql) => {
        mustExist(await new AccountService(sql).suspend(id, options.minutes), "account");
        print(options.json, { id: encodeId("acct", id), suspended: options.minutes !== 0 });
      }),
    );
}
