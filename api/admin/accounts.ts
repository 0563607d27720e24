/** `shorthop admin accounts …` */
import { type Command, Option } from "commander";

import { SCOPES } from "../../shared/contracts/key-bodies.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { type AccountLimits, createAccountService, PLANS } from "../accounts/service.ts";
import { createKeyService } from "../keys/service.ts";
import { parseCount, parseId, parseLimits, parseName } from "./arguments.ts";
import { mustExist, print, printList, type WithDatabase } from "./run.ts";

type Plan = (typeof PLANS)[number];
type PlanOptions = { plan: Plan; limits: AccountLimits; json: boolean };

const planOption = () =>
  new Option("--plan <plan>", "the account's plan").choices(PLANS).makeOptionMandatory();

export function addAccountCommands(program: Command, withDatabase: WithDatabase): void {
  const accounts = program.command("accounts").description("Customers and their plans");

  accounts
    .command("create")
    .description("Open an account")
    .requiredOption("--name <name>", "the account's name", parseName)
    .addOption(planOption())
    .option("--limits <json>", "an enterprise account's own limits", parseLimits, {})
    .option("--key", "also make a live key with every scope, printed this once", false)
    .option("--json", "print JSON", false)
    .action((options: PlanOptions & { name: string; key: boolean }) =>
      withDatabase(async (sql) => {
        const id = await createAccountService({ sql }).create(
          options.name,
          options.plan,
          options.limits,
        );
        const made = options.key
          ? await createKeyService({ sql }).make({
              accountId: id,
              name: "First key",
              mode: "live",
              scopes: SCOPES,
              expiresAt: null,
            })
          : undefined;
        print(options.json, {
          id: encodeId("acct", id),
          plan: options.plan,
          ...(made === undefined ? {} : { key: made.key }),
        });
      }),
    );

  accounts
    .command("list")
    .description("Show all accounts")
    .option("--json", "print JSON", false)
    .action((options: { json: boolean }) =>
      withDatabase(async (sql) => {
        const rows = await createAccountService({ sql }).list();
        printList(
          options.json,
          rows.map(({ id, ...row }) => ({ id: encodeId("acct", id), ...row })),
        );
      }),
    );

  accounts
    .command("set-plan")
    .description("Move an account to another plan, from its next request on")
    .argument("<id>", "the account's id (acct_…)", parseId("acct"))
    .addOption(planOption())
    .option("--limits <json>", "an enterprise account's own limits", parseLimits, {})
    .option("--json", "print JSON", false)
    .action((id: Uuid, options: PlanOptions) =>
      withDatabase(async (sql) => {
        mustExist(
          await createAccountService({ sql }).setPlan(id, options.plan, options.limits),
          "account",
        );
        print(options.json, { id: encodeId("acct", id), plan: options.plan });
      }),
    );

  accounts
    .command("suspend")
    .description("Shut an account out of the API; its links go on redirecting")
    .argument("<id>", "the account's id (acct_…)", parseId("acct"))
    .option(
      "--minutes <n>",
      "for so long; 0 lifts a suspension (default: until lifted)",
      parseCount,
    )
    .option("--json", "print JSON", false)
    .action((id: Uuid, options: { minutes?: number; json: boolean }) =>
      withDatabase(async (sql) => {
        mustExist(await createAccountService({ sql }).suspend(id, options.minutes), "account");
        print(options.json, { id: encodeId("acct", id), suspended: options.minutes !== 0 });
      }),
    );
}
