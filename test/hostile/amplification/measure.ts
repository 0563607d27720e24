/**
 * Amplification: how much CPU time a key can cause within its limits, by route and process. Each
 * route is called with inputs at their bounds (those of the cost guard) and with those that stored
 * data makes expensive, one call after another. The CPU time of a call times the calls that a
 * minute allows is a share of a core.
 */
import * as z from "zod";

import type { Data } from "../../harness/analytics-data.ts";
import { callOnce } from "../../harness/api.ts";
import { fillRequest, type Part } from "../cost/part.ts";
import { createCalls, describeParts, listParts, sendFilled, type Target } from "../cost/targets.ts";
import { createFixtures } from "../fixtures.ts";
import { readPorts } from "../routes.ts";
import { type CostlyCall, listCostly } from "./costly.ts";
import {
  budgetedPerMinute,
  callsPerMinute,
  FREE_PERCENT_MAX,
  type Plan,
  type PlanLimits,
  PLANS,
  type Work,
} from "./limits.ts";
import { type CpuMs, mapCpu, type Process, PROCESSES, StackMeter } from "./meter.ts";

/** Calls of a measurement: the kernel counts CPU time in steps of 10 ms. */
const CALLS = 10;
/**
 * Calls of a route that may be called more often: fewer than its limit allows at once. As many come
 * before the measurement, because connections plan a statement anew for its first executions, which
 * so many calls have soon behind them; then the limit must be free again.
 */
const MANY_CALLS = 30;
const OFTEN_PER_MINUTE = 100;
const AGAIN_MS = 5_000;
/** Calls by which the most expensive input of a route is found. */
const TRIAL_CALLS = 2;
/** Calls of an input that takes this long. */
const LONG_CALLS = 2;
const LONG_MS = 1_000;

/** An account may have so many live streams. */
const STREAMS = 3;
const STREAMS_MS = 10_000;

/** What calls of one kind cost. */
export type Amplification = {
  method: string;
  route: string;
  input: string;
  status: number;
  /** CPU time of one call. */
  call: CpuMs;
  /** Calls within a minute, by plan. */
  perMinute: Readonly<Record<Plan, number>>;
};

const MINUTE_MS = 60_000;

/** Percent of a core of a process that calls take, at so many within a minute. */
export const percentOf = ({ call }: Amplification, process: Process, perMinute: number): number =>
  (100 * call[process] * perMinute) / MINUTE_MS;

/** Percent of a core that the calls of a free key take of each process. */
export const freePercents = (row: Amplification): number[] =>
  PROCESSES.map((process) => percentOf(row, process, row.perMinute.free));

const mostOf = (row: Amplification): number => Math.max(...freePercents(row));

/** Calls of one kind, each of which returns its status. */
type Input = Work & {
  method: string;
  route: string;
  name: string;
  prepare?: CostlyCall["prepare"];
  send: (i: number) => Promise<number>;
};

/** Calls every route of a stack with these limits, each with its most expensive input. */
export async function measureAmplification(
  data: Data,
  limits: PlanLimits,
  log: (line: string) => void,
): Promise<Amplification[]> {
  const inputs = await createInputs(data);
  const meter = await StackMeter.start(data.stack);
  const rows: Amplification[] = [];
  const byRoute = Map.groupBy(inputs, ({ method, route }) => `${method} ${route}`);
  for (const [route, own] of byRoute) {
    const chosen = await chooseMostExpensive(meter, limits, own);
    let row = await measureCalls(meter, limits, chosen);
    // What the API does beside, such as a snapshot of all links, may be in one measurement.
    if (mostOf(row) > FREE_PERCENT_MAX) {
      const again = await measureCalls(meter, limits, chosen);
      if (mostOf(again) < mostOf(row)) row = again;
    }
    rows.push(row);
    log(`${route}: ${describe(row.call)}`);
  }
  return [...rows, await measureStreams(data, meter)];
}

const sum = (cpu: CpuMs): number => PROCESSES.reduce((total, process) => total + cpu[process], 0);

const describe = (cpu: CpuMs): string =>
  PROCESSES.map((process) => `${process} ${Math.round(cpu[process] * 10) / 10} ms`).join(", ");

/** The inputs of all routes of the API that a key may call. */
async function createInputs({ stack, contents }: Data): Promise<Input[]> {
  const { api_url: apiUrl } = stack.info();
  const { account, hot, median } = contents;
  const fixtures = { ...(await createFixtures(stack, account)), linkId: hot.id };
  const ports = readPorts(stack);
  let number = 0;

  const toInputs = (target: Target): Input[] =>
    target.combinations.map((combination) => ({
      method: target.route.method,
      route: target.route.path,
      name: describeParts(combination),
      rows: countRows(target, fixtures.linkId, listParts(target, combination)),
      async send() {
        const sending = { share: 1, number: ++number, fixtures };
        const sent = await sendFilled(target, listParts(target, combination), sending, ports);
        return sent.status;
      },
    }));

  const toInput = ({ path, body, ...input }: CostlyCall): Input => ({
    ...input,
    async send(i) {
      const sent = {
        method: input.method,
        key: account.key,
        ...(body === undefined ? {} : { body: body(i) }),
      };
      return (await callOnce(`${apiUrl}${path}`, sent)).status;
    },
  });

  const calls = createCalls(fixtures, median.id, false, isForKeys);
  const costly = listCostly({ apiUrl, key: account.key, hot: hot.id, median: median.id });
  return [...calls.flatMap(toInputs), ...costly.map(toInput)];
}

const bulkBody = z.object({ links: z.array(z.unknown()) });

/** The links that a call creates in bulk, each of which takes a row of a budget. */
function countRows({ route, base }: Target, linkId: string, parts: readonly Part[]): number {
  if (`${route.method} ${route.path}` !== "POST /v1/links/bulk") return 0;
  const { body } = fillRequest(base, parts, { share: 1, nonce: "n", route, linkId });
  return bulkBody.safeParse(JSON.parse(String(body))).data?.links.length ?? 0;
}

/**
 * Whether keys call a route, rather than visitors of shared statistics and browsers; streams are
 * measured differently.
 */
const isForKeys = ({ surface, path }: { surface: string; path: string }): boolean =>
  surface === "api" && /^\/v1\/(?!shared\/)/.test(path) && !path.endsWith("/stream");

/** What one of so many calls costs, which they returned, and how long one takes. */
type Run = { call: CpuMs; statisticsMs: number; status: number; ms: number };

async function run(meter: StackMeter, { prepare, send }: Input, calls: number): Promise<Run> {
  // What it prepares is over before the measurement begins.
  if (prepare !== undefined) await meter.measure(() => prepare(calls));
  let status = 0;
  const chargedBefore = await meter.readStatisticsMs();
  const started = performance.now();
  const cpu = await meter.measure(async () => {
    for (let i = 0; i < calls; i++) status = await send(i);
  });
  const ms = (performance.now() - started) / calls;
  const statisticsMs = ((await meter.readStatisticsMs()) - chargedBefore) / calls;
  return { call: mapCpu((process) => cpu[process] / calls), statisticsMs, status, ms };
}

/** The input with which a free key causes most within a minute. */
async function chooseMostExpensive(
  meter: StackMeter,
  limits: PlanLimits,
  inputs: readonly Input[],
): Promise<{ input: Input; ms: number }> {
  let most: { input: Input; cpu: number; ms: number } | undefined;
  for (const input of inputs) {
    const { call, statisticsMs, ms } = await run(meter, input, TRIAL_CALLS);
    const cpu = sum(call) * perMinuteOf(limits, "free", { ...input, statisticsMs });
    if (most === undefined || cpu > most.cpu) most = { input, cpu, ms };
  }
  if (most === undefined) throw new Error("A route has no inputs.");
  return most;
}

const perMinuteOf = (limits: PlanLimits, plan: Plan, { method, route, ...work }: Input): number =>
  Math.min(callsPerMinute(limits, plan, { method, path: route }), budgetedPerMinute(plan, work));

async function measureCalls(
  meter: StackMeter,
  limits: PlanLimits,
  { input, ms }: { input: Input; ms: number },
): Promise<Amplification> {
  const { method, route, name } = input;
  const isOften = perMinuteOf(limits, "free", input) > OFTEN_PER_MINUTE;
  if (isOften) {
    await run(meter, input, MANY_CALLS);
    await Bun.sleep(AGAIN_MS);
  }
  const usual = isOften ? MANY_CALLS : CALLS;
  const { call, statisticsMs, status } = await run(
    meter,
    input,
    ms > LONG_MS || input.prepare !== undefined ? LONG_CALLS : usual,
  );
  const perMinute = toPlans((plan) => perMinuteOf(limits, plan, { ...input, statisticsMs }));
  return { method, route, input: name, status, call, perMinute };
}

const toPlans = (map: (plan: Plan) => number): Record<Plan, number> => {
  const [free, pro, business] = PLANS;
  return { free: map(free), pro: map(pro), business: map(business) };
};

/** Measures open live streams, as if each second of all of them were a call. */
async function measureStreams(
  { stack, contents }: Data,
  meter: StackMeter,
): Promise<Amplification> {
  const { api_url } = stack.info();
  const { account, hot, median } = contents;
  const controller = new AbortController();
  const links = [hot.id, median.id, hot.id].slice(0, STREAMS);
  let status = 0;
  const cpu = await meter.measure(async () => {
    const streams = await Promise.all(
      links.map((id) =>
        fetch(`${api_url}/v1/analytics/${id}/stream`, {
          headers: { authorization: `Bearer ${account.key}` },
          signal: controller.signal,
        }),
      ),
    );
    status = streams[0]?.status ?? 0;
    await Bun.sleep(STREAMS_MS);
    controller.abort();
  });
  const seconds = STREAMS_MS / 1_000;
  return {
    method: "GET",
    route: "/v1/analytics/:link_id/stream",
    input: `${STREAMS} open streams, per second`,
    status,
    call: mapCpu((process) => cpu[process] / seconds),
    perMinute: toPlans(() => 60),
  };
}
