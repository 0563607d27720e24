/**
 * The cost guard: sends each input at its bounds alone to an idle stack, and measures what it costs
 * the event loop that reads it. A visitor's request may take 20 ms, a call of the API 50 ms, and
 * the work may grow no faster than the input. PostgreSQL and ClickHouse may take 50 ms of CPU time
 * each. The bounds are constants of the code; the routes and their schemas are read from the
 * applications. Messages at their bounds are sent straight to NATS.
 *
 * A short run combines few parts of a request (each once), a long one all pairs of them. An input
 * that takes less than `FLOOR_MS` is sent once; others are measured at three sizes, three times
 * each. One that seems to be at fault is measured again after all others: what a process does
 * beside may outlast three tries, what the input costs is there again.
 */
import { connect } from "nats";

import { natsLogin } from "../../../shared/nats.ts";
import { withPostgres } from "../../harness/admin.ts";
import { call, linkSchema } from "../../harness/api.ts";
import { signerOf } from "../../harness/links-log.ts";
import { createRandom, shuffle } from "../../harness/random.ts";
import type { Stack } from "../../harness/stack.ts";
import { createFixtures } from "../fixtures.ts";
import type { Fixtures } from "../requests.ts";
import { formatRoute, readPorts, type Route } from "../routes.ts";
import { sampleConditions } from "../schema-values.ts";
import { PROCESS_OF, WATCHED_PROCESSES, type WatchedProcess } from "../watch.ts";
import {
  type Cost,
  FLOOR_MS,
  isSuperlinear,
  Meter,
  type Sample,
  type Sent,
  SHARES,
  type Store,
  STORES,
} from "./measure.ts";
import { MESSAGES, readDatabase, sendMessage } from "./messages.ts";
import {
  combine,
  createBase,
  createCalls,
  describeParts,
  listParts,
  sendFilled,
  type Target,
} from "./targets.ts";
import { LINK_WITH_ALL, listLinks, VISITOR_PARTS } from "./visitors.ts";

/** Most milliseconds of an event loop's turn, by the process. */
const BUDGET_MS: Readonly<Record<WatchedProcess, number>> = {
  redirector: 20,
  api: 50,
  worker: 50,
};

/**
 * Most milliseconds of CPU time of a store. 50 ms are a twentieth of a core with the 60 calls that
 * a free key may make within a minute. In ClickHouse `GET /v1/analytics` takes more, whatever its
 * parameters: it is a dozen queries, each of which costs some milliseconds before it reads a row.
 * Larger plans have more calls, and a call the same budget.
 */
const STORE_BUDGET_MS: Readonly<Record<Store, number>> = { postgres: 50, clickhouse: 100 };

/** What an input costs one process, and whether that is a fault. */
export type CostRow = {
  /** The route, or the kind of link that is visited. */
  target: string;
  process: WatchedProcess | Store;
  status: number;
  /** At each share; three times the last one when it is small. */
  samples: readonly [Sample, Sample, Sample];
  /**
   * The longest turn where the CPU time exceeds the budget; else it is at most the CPU time, as for
   * stores.
   */
  turnMs: number;
  parts: string;
  fault: string | undefined;
};

export type GuardOptions = {
  /** All pairs of parts, instead of each part once. */
  pairwise: boolean;
  /** How many times slower than the budgets' the machine may be. */
  slowdown: number;
  /** Only so many of the inputs, as a seed chooses them. */
  some?: { count: number; seed: number };
  log: (line: string) => void;
};

/** A request or a message to measure. */
type Input = {
  target: string;
  /** The process that reads it first, if one is watched. */
  process: WatchedProcess | undefined;
  parts: string;
  /** Sends it at a share of its bounds. */
  send: (share: number) => Promise<Sent>;
};

/**
 * Attacks the stack, which nothing else may use, and returns a row for each input and process that
 * it makes work.
 */
export async function guardCosts(stack: Stack, options: GuardOptions): Promise<CostRow[]> {
  const fixtures = await createFixtures(stack);
  const meter = new Meter(stack);
  const ports = readPorts(stack);
  const { visits, linkId } = await createVisits(stack, fixtures, options);
  // A short run leaves out the dashboard's routes that are the API's again.
  const calls = createCalls(
    fixtures,
    linkId,
    options.pairwise,
    ({ surface, path }) => surface === "api" || options.pairwise || !path.includes("/v1/"),
  );
  const targets = [...visits, ...calls];
  const inputs = targets.flatMap((target) =>
    target.combinations.map((combination) => ({ target, combination })),
  );
  options.log(`${targets.length} targets, ${inputs.length} inputs`);
  let sent = 0;
  const requests = inputs.map(({ target, combination }): Input => {
    const parts = listParts(target, combination);
    return {
      target: target.name,
      process: PROCESS_OF[target.route.surface],
      parts: describeParts(combination),
      send: async (share) => {
        await forgetAttempts(stack);
        return sendFilled(target, parts, { share, number: ++sent, fixtures }, ports);
      },
    };
  });
  const nats = await connect(natsLogin(stack.info().nats_url));
  const database = await readDatabase(nats);
  const signer = signerOf(stack.info());
  // Messages go straight to NATS.
  const messages = MESSAGES.map((message): Input => ({
    target: `NATS ${message.subject}`,
    process: message.process,
    parts: message.name,
    send: (share) => sendMessage(nats, signer, message, message.make(share, ++sent, database)),
  }));
  const all = [...requests, ...messages];
  const { some } = options;
  // Each at most once.
  const chosen =
    some === undefined ? all : shuffle(createRandom(some.seed), all).slice(0, some.count);
  const rows = await measureInputs(meter, chosen, options);
  await nats.drain();
  return rows;
}

/** The routes of which a limit refused every input, so that none was measured. */
export const listUnmeasured = (rows: readonly Pick<CostRow, "target" | "status">[]): string[] =>
  [...Map.groupBy(rows, ({ target }) => target)]
    .filter(([, own]) => own.every(({ status }) => status === 429))
    .map(([route]) => route);

/**
 * Forgets the attempts at passwords: each try of an input that has one would count, and what is
 * refused costs less than what is measured.
 */
const forgetAttempts = (stack: Stack): Promise<unknown> =>
  withPostgres(stack, (sql) => sql`delete from sign_in_windows`);

/** Measures the inputs one after the other, and then those again that seem to be at fault. */
async function measureInputs(
  meter: Meter,
  inputs: readonly Input[],
  options: GuardOptions,
): Promise<CostRow[]> {
  const found: CostRow[][] = [];
  for (const [i, input] of inputs.entries()) {
    found.push(await measureInput(meter, input, options));
    if ((i + 1) % 500 === 0) options.log(`${i + 1} inputs measured`);
  }
  for (const [i, input] of inputs.entries()) {
    if (found[i]?.every(({ fault }) => fault === undefined) ?? true) continue;
    options.log(`once more: ${input.target}, ${input.parts}`);
    found[i] = await measureInput(meter, input, options);
  }
  return found.flat();
}

async function measureInput(
  meter: Meter,
  { target, process: own, parts, send: sendShare }: Input,
  { slowdown }: GuardOptions,
): Promise<CostRow[]> {
  const send = (share: number) => (): Promise<Sent> => sendShare(share);
  const full = await meter.measure(send(1));
  // Every process that the input makes work: a call of the API also causes messages of the feed.
  const judged = WATCHED_PROCESSES.filter(
    (process) => process === own || full.cpu[process] > FLOOR_MS,
  );
  const isCheap = judged.every((process) => full.cpu[process] <= FLOOR_MS);
  const quarter = isCheap ? full : await meter.measure(send(SHARES[0]));
  const half = isCheap ? full : await meter.measure(send(SHARES[1]));
  const rows: CostRow[] = [];
  for (const process of judged) {
    const sample = ({ bytes, cpu }: Cost): Sample => ({ bytes, cpuMs: cpu[process] });
    const samples = [sample(quarter), sample(half), sample(full)] as const;
    const budget = BUDGET_MS[process] * slowdown;
    let turnMs = full.cpu[process];
    if (turnMs > budget) turnMs = Math.min(turnMs, await meter.measureTurn(process, send(1)));
    const slow = turnMs > budget ? `turn above ${budget} ms` : undefined;
    const fault = isSuperlinear(samples) ? "grows faster than the input" : slow;
    rows.push({ target, process, parts, status: full.status, samples, turnMs, fault });
  }
  return [...rows, ...judgeStores(full, { target, parts }, slowdown)];
}

/**
 * A row for each store that the input makes work. Its growth is not judged: what a store does
 * beside is too much for that.
 */
const judgeStores = (
  { bytes, cpu, status }: Cost,
  input: Pick<Input, "target" | "parts">,
  slowdown: number,
): CostRow[] =>
  STORES.filter((store) => cpu[store] > FLOOR_MS).map((process): CostRow => {
    const budget = STORE_BUDGET_MS[process] * slowdown;
    const cpuMs = cpu[process];
    const sample = { bytes, cpuMs };
    const fault = cpuMs > budget ? `above ${budget} ms of CPU time` : undefined;
    const samples = [sample, sample, sample] as const;
    return { ...input, process, status, samples, turnMs: cpuMs, fault };
  });

/**
 * Creates the links, one of which has conditions of all kinds (`linkId`), and the requests of their
 * visitors.
 */
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
