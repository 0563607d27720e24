/**
 * The cost guard: sends each input at its bounds alone to an idle stack, and measures what it costs the event loop that reads
 * it. A visitor's request may take 20 ms, a call of the API 50 ms, and the work may grow no faster than the input. The bounds
 * are those of docs/input-bounds.md; the routes and their schemas are read from the applications.
 *
 * A short run combines few parts of a request (each once), a long one all pairs of them. An input that takes less than
 * `FLOOR_MS` is sent once; others are measured at three sizes, three times each.
 */
import { call, linkSchema } from "../../harness/api.ts";
import type { Stack } from "../../harness/stack.ts";
import { createFixtures } from "../fixtures.ts";
import { readPorts } from "../ports.ts";
import { createValidRequest, type Fixtures, type HttpRequest } from "../requests.ts";
import { formatRoute, listRoutes, type Route, type Surface } from "../routes.ts";
import { PROCESS_OF, WATCHED_PROCESSES, type WatchedProcess } from "../watch.ts";
import { sendInput } from "../wire.ts";
import { CALL_PARTS, hasPart } from "./calls.ts";
import { type Cost, createMeter, type Meter, type Sent } from "./measure.ts";
import { type Combination, coverLevels, coverPairs } from "./pairs.ts";
import { fillRequest, type Part, type Parts, PLAIN } from "./part.ts";
import { sampleConditions } from "./sample-conditions.ts";
import { FLOOR_MS, isSuperlinear, type Sample, SHARES } from "./slope.ts";
import { LINK_WITH_ALL, listLinks, VISITOR_PARTS } from "./visitors.ts";

/** Most milliseconds of an event loop's turn, by the process. */
const BUDGET_MS: Readonly<Record<WatchedProcess, number>> = {
  redirector: 20,
  api: 50,
  worker: 50,
};

/** What an input costs one process, and whether that is a fault. */
export type CostRow = {
  /** The route, or the kind of link that is visited. */
  target: string;
  process: WatchedProcess;
  status: number;
  /** At each share; three times the last one when it is small. */
  samples: readonly [Sample, Sample, Sample];
  /** The longest turn where the CPU time exceeds the budget; else it is at most the CPU time. */
  turnMs: number;
  parts: string;
  fault?: string;
};

type Target = {
  name: string;
  route: Route;
  base: HttpRequest;
  /** Filled in every combination. */
  always: Part;
  parts: Parts;
  combinations: readonly Combination[];
};

export type GuardOptions = {
  /** All pairs of parts, instead of each part once. */
  pairwise: boolean;
  /** How many times slower than the budgets' the machine may be. */
  slowdown: number;
  /** Listeners whose inputs are measured; by default all. */
  surfaces?: readonly Surface[] | undefined;
  log: (line: string) => void;
};

/** Attacks the stack, which nothing else may use, and returns a row for each input and process that it makes work. */
export async function guardCosts(stack: Stack, options: GuardOptions): Promise<CostRow[]> {
  const fixtures = await createFixtures(stack);
  const meter = createMeter(stack);
  const ports = readPorts(stack);
  const { visits, linkId } = await createVisits(stack, fixtures, options);
  const targets = [...visits, ...createCalls(fixtures, linkId, options)].filter(
    ({ route }) => options.surfaces?.includes(route.surface) ?? true,
  );
  const inputs = targets.flatMap((target) =>
    target.combinations.map((combination) => ({ target, combination })),
  );
  options.log(`${targets.length} targets, ${inputs.length} inputs`);
  const rows: CostRow[] = [];
  let sent = 0;
  for (const { target, combination } of inputs) {
    const parts = [target.always, ...listParts(target.parts, combination)];
    const send = (share: number) => (): Promise<Sent> =>
      sendFilled(target, parts, { share, number: ++sent, linkId: fixtures.linkId }, ports);
    const found = await measureInput(meter, send, target, options);
    const names = Object.entries(combination)
      .filter(([, level]) => level !== "plain")
      .map(([group, level]) => `${group}: ${level}`)
      .join(", ");
    rows.push(...found.map((row) => ({ ...row, parts: names })));
    if (rows.length % 500 === 0) options.log(`${sent} requests`);
  }
  return rows;
}

async function measureInput(
  meter: Meter,
  send: (share: number) => () => Promise<Sent>,
  { name, route }: Target,
  { slowdown }: GuardOptions,
): Promise<Omit<CostRow, "parts">[]> {
  const full = await meter.measure(send(1));
  const own = PROCESS_OF[route.surface];
  // Every process that the input makes work: a call of the API also causes messages of the feed.
  const judged = WATCHED_PROCESSES.filter(
    (process) => process === own || full.cpu[process] > FLOOR_MS,
  );
  const isCheap = judged.every((process) => full.cpu[process] <= FLOOR_MS);
  const quarter = isCheap ? full : await meter.measure(send(SHARES[0]));
  const half = isCheap ? full : await meter.measure(send(SHARES[1]));
  const rows: Omit<CostRow, "parts">[] = [];
  for (const process of judged) {
    const sample = ({ bytes, cpu }: Cost): Sample => ({ bytes, cpuMs: cpu[process] });
    const samples = [sample(quarter), sample(half), sample(full)] as const;
    const budget = BUDGET_MS[process] * slowdown;
    let turnMs = full.cpu[process];
    if (turnMs > budget) turnMs = Math.min(turnMs, await meter.measureTurn(process, send(1)));
    const row = { target: name, process, status: full.status, samples, turnMs };
    if (isSuperlinear(samples)) rows.push({ ...row, fault: "grows faster than the input" });
    else if (turnMs > budget) rows.push({ ...row, fault: `turn above ${budget} ms` });
    else rows.push(row);
  }
  return rows;
}

const listParts = (parts: Parts, combination: Combination): Part[] =>
  Object.entries(combination).flatMap(([group, level]) => parts[group]?.[level] ?? []);

async function sendFilled(
  { route, base }: Target,
  parts: readonly Part[],
  { share, number, linkId }: { share: number; number: number; linkId: string },
  ports: Record<Surface, number>,
): Promise<Sent> {
  const filling = { share, nonce: `n${number.toString(36)}`, route, linkId };
  // An address of its own for each request: limits by network must not keep it from the parsers.
  const address = `100.${64 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
  const headers = base.headers.map(([name, value]): [string, string] => [
    name,
    name === "X-Forwarded-For" ? address : value,
  ]);
  const bytes = fillRequest({ ...base, headers }, parts, filling);
  const input = {
    bytes,
    methods: [base.method],
    delivery: { kind: "whole" },
    complete: true,
  } as const;
  const { responses } = await sendInput(input, ports[route.surface]);
  return { bytes: bytes.length, status: responses[0]?.status ?? 0 };
}

/** Chooses the first of a choice and the most of a range: the same valid request of a route each time. */
const STEADY = {
  between: (_: number, max: number): number => max,
  pick: <T>([first]: readonly [T, ...T[]]): T => first,
};

const createBase = (route: Route, fixtures: Fixtures): HttpRequest => ({
  ...createValidRequest({ random: STEADY, route, fixtures, mark: "cost" }),
  query: [],
});

function combine(parts: Parts, pairwise: boolean): Combination[] {
  const factors = Object.fromEntries(
    Object.entries(parts).map(([group, levels]) => [group, Object.keys(levels)]),
  );
  return pairwise ? coverPairs(factors) : coverLevels(factors);
}

/** Creates the links, one of which has conditions of all kinds (`linkId`), and the requests of their visitors. */
async function createVisits(
  stack: Stack,
  fixtures: Fixtures,
  { pairwise }: GuardOptions,
): Promise<{ visits: Target[]; linkId: string }> {
  const { api_url } = stack.info();
  const links = listLinks(sampleConditions());
  // What a link does decides what a part of the request costs: each link gets all combinations.
  const combinations = combine(VISITOR_PARTS, pairwise);
  let linkId = "";
  const visits = await Promise.all(
    links.map(async ({ alias, method, body, visits: kinds }) => {
      const { status, body: created } = await call(`${api_url}/v1/links`, {
        key: fixtures.enterpriseKey,
        body: { ...body, alias },
      });
      if (status !== 201) throw new Error(`${alias}: ${status} ${JSON.stringify(created)}`);
      if (alias === LINK_WITH_ALL) linkId = linkSchema.parse(created).id;
      const route: Route = { surface: "redirector", method, path: `/${alias}`, query: [] };
      return Object.entries(kinds).map(([kind, always]) => ({
        name: `${formatRoute(route)}${kind === "plain" ? "" : `, ${kind}`}`,
        route,
        base: createBase(route, fixtures),
        always,
        parts: VISITOR_PARTS,
        combinations,
      }));
    }),
  );
  return { visits: visits.flat(), linkId };
}

/** The calls of all routes of the API and the dashboard; a short run leaves out those that are the API's again. */
const createCalls = (fixtures: Fixtures, linkId: string, { pairwise }: GuardOptions): Target[] =>
  listRoutes()
    .filter(
      ({ surface, path }) =>
        surface === "api" || (surface === "dashboard" && (pairwise || !path.includes("/v1/"))),
    )
    .map((route) => {
      const groups = Object.entries(CALL_PARTS).filter(([group]) => hasPart(route, group));
      const parts: Parts = Object.fromEntries(groups);
      return {
        name: formatRoute(route),
        route,
        // Changes go to another link, so that this one keeps its rules.
        base: createBase(route, route.method === "PATCH" ? fixtures : { ...fixtures, linkId }),
        always: PLAIN,
        parts,
        combinations: combine(parts, pairwise),
      };
    });
