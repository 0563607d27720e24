/**
 * `bun run test:scenarios amplification [-- [--clicks MILLIONS] [--data DIR] [--route TEXT]]`:
 * measures how much CPU time a free key can cause within its limits, by route, and writes
 * `bench/results/amplification.json`. `--data` keeps the clicks for the next run.
 */
import { parseArgs } from "node:util";

import { openData, tagLinks } from "../../harness/analytics-data.ts";
import { Dns } from "../../harness/dns.ts";
import { atMost, publish, round, type Target } from "../../harness/report.ts";
import { type PlanLimits, PLANS, readLimits } from "./limits.ts";
import { type Amplification, measureAmplification } from "./measure.ts";
import { type Process, PROCESSES } from "./meter.ts";

/** Most of a core, in percent, that a free key may take of any process. */
const FREE_PERCENT_MAX = 5;

/** The stores, whose time per call has a budget. */
const STORES = ["postgres", "clickhouse"] as const;

const MINUTE_MS = 60_000;

/** Percent of a core of a process that calls take, at so many within a minute. */
const percentOf = ({ call }: Amplification, process: Process, perMinute: number): number =>
  (100 * call[process] * perMinute) / MINUTE_MS;

/**
 * The percentage of a core that the calls of a plan may take of a store: as much as a free key's
 * for each call that the plan allows. So every call has the same budget of time, whatever the plan.
 */
const storeBudget = (free: number, own: number): number => (FREE_PERCENT_MAX * own) / free;

export function toRow(row: Amplification): Record<string, string | number> {
  const { method, route, input, status, call, perMinute } = row;
  const shares = PROCESSES.map((process) => percentOf(row, process, perMinute.free));
  return {
    route: `${method} ${route}`,
    "% of a core at most": round(Math.max(...shares)),
    "calls a minute": round(perMinute.free),
    ...Object.fromEntries(PROCESSES.map((process) => [`${process}, ms`, round(call[process])])),
    status,
    input,
  };
}

const most = (values: readonly number[]): number => Math.max(0, ...values);

export function listTargets(rows: readonly Amplification[], minutes: PlanMinutes): Target[] {
  return [
    atMost("calls that failed or were refused", rows.filter(isLost).length, 0),
    ...PROCESSES.map((process) =>
      atMost(
        `most of a core that a free key takes of ${process}, %`,
        most(rows.map((row) => percentOf(row, process, row.perMinute.free))),
        FREE_PERCENT_MAX,
      ),
    ),
    ...PLANS.filter((plan) => plan !== "free").flatMap((plan) =>
      STORES.map((store) =>
        atMost(
          `most of a core that a ${plan} key takes of ${store}, %`,
          most(rows.map((row) => percentOf(row, store, row.perMinute[plan]))),
          storeBudget(minutes.free, minutes[plan]),
        ),
      ),
    ),
  ];
}

/**
 * Whether calls did not do what they are measured for. Without a mail server, reports respond with
 * 503.
 */
const isLost = ({ status }: Amplification): boolean => status === 429 || status === 500;

/** Calls per minute of each plan. */
type PlanMinutes = Amplification["perMinute"];

const toMinutes = ({ plans: { free, pro, business } }: PlanLimits): PlanMinutes => ({
  free: free.minute,
  pro: pro.minute,
  business: business.minute,
});

const percentIn = (row: Record<string, string | number>): number =>
  Number(row["% of a core at most"]);

/** Measures a new stack, and prints the table. Returns the number of targets that are missed. */
async function reportAmplification(): Promise<number> {
  const { values } = parseArgs({
    options: {
      clicks: { type: "string", default: "1" },
      data: { type: "string" },
      route: { type: "string" },
    },
  });
  await using dns = await Dns.start();
  const env = { DNS_SERVERS: dns.address };
  const data = await openData(Number(values.clicks) * 1e6, values.data, { env });
  await using stack = data.stack;
  await tagLinks({ ...data, stack });
  const limits = await readLimits(stack);
  const rows = await measureAmplification(data, limits, { only: values.route, log: console.log });
  const targets = listTargets(rows, toMinutes(limits));
  publish({
    name: "amplification",

    rows: rows.map(toRow).toSorted((a, b) => percentIn(b) - percentIn(a)),
    targets,
  });
  return targets.filter(({ met }) => !met).length;
}

if (import.meta.main) process.exit((await reportAmplification()) === 0 ? 0 : 1);
