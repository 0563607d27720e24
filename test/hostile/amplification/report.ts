/** What the calls of a key cost, beside what they may. */
import { atMost, round, type Target } from "../../harness/report.ts";
import { FREE_PERCENT_MAX, type PlanLimits, PLANS } from "./limits.ts";
import { type Amplification, freePercents, percentOf } from "./measure.ts";
import { PROCESSES } from "./meter.ts";

/** The stores, whose time per call has a budget. */
const STORES = ["postgres", "clickhouse"] as const;

/**
 * The percentage of a core that the calls of a plan may take of a store: as much as a free key's
 * for each call that the plan allows. So every call has the same budget of time, whatever the plan.
 */
const storeBudget = (free: number, own: number): number => (FREE_PERCENT_MAX * own) / free;

export function toRow(row: Amplification): Record<string, string | number> {
  const { method, route, input, status, call, perMinute } = row;
  return {
    route: `${method} ${route}`,
    "% of a core at most": round(Math.max(...freePercents(row))),
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

export const toMinutes = ({ plans: { free, pro, business } }: PlanLimits): PlanMinutes => ({
  free: free.minute,
  pro: pro.minute,
  business: business.minute,
});
