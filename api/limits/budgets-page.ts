/** `bun run budgets`: prints the page of the budgets for operators from their table. */
import {
  ACCOUNT_BUDGET_NAMES,
  ACCOUNT_BUDGETS,
  boundsOf,
  NETWORK_FILES,
  type Plan,
  PLANS,
  type Resource,
  RESOURCES,
  WINDOWS,
} from "../../shared/budgets.ts";
import { DAY_SECONDS, HOUR_SECONDS } from "../../shared/durations.ts";
import { CALLS, JOBS, QUEUES } from "../../shared/waiting-work.ts";

/** Budgets that come back by the day, rather than by the second. */
const isDaily = (perSecond: number): boolean => perSecond === 0;

/** The most that an account of a plan takes of a resource per second, averaged over a day. */
export const loadOf = (plan: Plan, resource: Resource): number =>
  ACCOUNT_BUDGET_NAMES.reduce((sum, name) => {
    const { cost } = ACCOUNT_BUDGETS[name];
    const { atOnce, perSecond } = boundsOf(name, plan);
    const rate = isDaily(perSecond) ? atOnce / DAY_SECONDS : perSecond;
    return cost.of === resource ? sum + rate * cost.each : sum;
  }, 0);

/**
 * What accounts of each plan and all together take at most that use up all of their budgets all the
 * time, one row each: shares of the machine's cores, and bytes a day.
 */
export function sumLoads(plans: readonly string[], cores: number): Record<string, string>[] {
  const rows = PLANS.map((plan) => {
    const accounts = plans.filter((of) => of === plan).length;
    return { plan, accounts, loads: RESOURCES.map((of) => accounts * loadOf(plan, of)) };
  });
  const sums = RESOURCES.map((_, i) => rows.reduce((sum, { loads }) => sum + (loads[i] ?? 0), 0));
  return [...rows, { plan: "all", accounts: plans.length, loads: sums }].map(
    ({ plan, accounts, loads }) => ({
      plan,
      accounts: String(accounts),
      ...Object.fromEntries(
        RESOURCES.map((resource, i) => [resource, inMachines(resource, loads[i] ?? 0, cores)]),
      ),
    }),
  );
}

const inMachines = (resource: Resource, perSecond: number, cores: number): string =>
  resource === "disk" ? inAmount(resource, perSecond) : `${perSecond.toFixed(2)} of ${cores} cores`;

/** `docs/budgets.md`. */
export const printBudgets = (): string =>
  `${[
    INTRODUCTION,
    "## Accounts",
    "Of all modes, users, keys and sessions of an account together. What may be taken at once comes back in the course of time.",
    table(
      ["Budget", "Counted", ...PLANS, "Taken by", "Beyond it", "Seen by"],
      ACCOUNT_BUDGET_NAMES.map((name) => {
        const { unit, takenBy, beyond, seenBy } = ACCOUNT_BUDGETS[name];
        const bounds = PLANS.map((plan) => inWords(boundsOf(name, plan)));
        return [`\`${name}\``, unit, ...bounds, takenBy, beyond, `${seenBy}s`];
      }),
    ),
    "## Calls",
    "What a call of the API takes from. The others read or write a bounded number of rows, and are limited by their number alone.",
    table(
      ["Call", "Budgets"],
      Object.entries(CALLS)
        .filter(([, names]) => names.length > 0)
        .map(([call, names]) => [`\`${call}\``, names.map((name) => `\`${name}\``).join(", ")]),
    ),
    "## What the machine needs",
    LOAD,
    table(
      ["Plan", ...RESOURCES.map((resource) => COLUMNS[resource])],
      PLANS.map((plan) => [
        plan,
        ...RESOURCES.map((resource) => inAmount(resource, loadOf(plan, resource))),
      ]),
    ),
    "## Networks, keys, users and sessions",
    "Where there is no account, or before it is known: requests in a window. Beyond it: 429. An IPv6 site (a /48) has ten times as much as one of its networks.",
    table(
      ["Window", "By", "Requests", "Taken by"],
      Object.entries(WINDOWS).map(([name, { by, limit, seconds, takenBy }]) => [
        `\`${name}\``,
        by,
        `${limit.toLocaleString("en")} in ${seconds} s`,
        takenBy,
      ]),
    ),
    `Files of the dashboard and of the reference: a network may fetch ${inMebibytes(NETWORK_FILES.atOnce)} at once, and ${inMebibytes(NETWORK_FILES.perSecond)} a second.`,
    "## Queues",
    "Work that waits, and whose turn it is.",
    table(["File", "What waits"], Object.entries(QUEUES).map(named)),
    "## Work that begins by itself",
    table(["File", "What it is, and who pays for it"], Object.entries(JOBS).map(named)),
  ].join("\n\n")}\n`;

const INTRODUCTION = `# Budgets

What accounts, and without one networks, may take of what costs. Printed from \`shared/budgets.ts\` and \`shared/waiting-work.ts\` by \`bun run budgets\`; a test compares it.

The limits of requests and the quotas of what an account holds are in PostgreSQL besides ([keys and limits](architecture.md#keys-and-limits)), and can be set for an account. \`GET /v1/limits\` lists all that a caller can meet, and an error beyond one names it, how much it is, and when to try again.`;

const LOAD =
  "What one account takes that uses up all of its budgets all the time: shares of a core, and bytes a day. Multiplied by the number of accounts of each plan it is what a machine must have in the worst case: `shorthop admin accounts budgets` prints the sums for the accounts that there are. Each API process counts by itself, so two of them allow twice as much.";

const COLUMNS: Readonly<Record<Resource, string>> = {
  postgres: "PostgreSQL",
  clickhouse: "ClickHouse",
  api: "API",
  disk: "Disk",
};

const inAmount = (resource: Resource, perSecond: number): string =>
  resource === "disk"
    ? `${Math.round((perSecond * DAY_SECONDS) / 1e6).toLocaleString("en")} MB a day`
    : `${(perSecond * 100).toFixed(1)} % of a core`;

function inWords({ atOnce, perSecond }: { atOnce: number; perSecond: number }): string {
  const most = Math.round(atOnce).toLocaleString("en");
  if (isDaily(perSecond)) return `${most} a day`;
  const [count, per] = perSecond >= 1 ? [perSecond, "s"] : [perSecond * HOUR_SECONDS, "h"];
  return `${most}, and ${Math.round(count).toLocaleString("en")}/${per}`;
}

const inMebibytes = (kib: number): string => `${kib / 1024} MiB`;

const named = ([path, text]: [string, string]): string[] => [`\`${path}\``, text];

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

if (import.meta.main) process.stdout.write(printBudgets());
