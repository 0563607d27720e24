/**
 * Every redirect that was answered is one click in ClickHouse, in every rollup and on the link, whatever
 * goes wrong meanwhile. Clients follow links on two redirectors and count their answers, while faults that
 * a seed chooses follow each other; in the end the sums must be equal. A redirect whose answer never came,
 * because its redirector was killed, may count or not.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { connect } from "nats";
import * as z from "zod";

import { decodePage, pageIdText } from "../../shared/contracts/click-page.ts";
import { CLICKS_STREAM, DEAD_CLICKS_STREAM } from "../../shared/contracts/streams.ts";
import { decodeId } from "../../shared/ids.ts";
import { createAccount } from "../harness/admin.ts";
import { call, linkAnswer } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { type Stack, startStack } from "../harness/stack.ts";
import {
  expectWhole,
  fillStream,
  keepRedirector,
  keepWorker,
  killPart,
  pauseNats,
  type Replaceable,
  setNatsBack,
  troubleClickHouse,
} from "./faults.ts";
import { type LossyClickHouse, startLossyClickHouse } from "./lossy-clickhouse.ts";
import { createRandom, type Random } from "./random.ts";

const LINKS = 5;
const CLIENTS = 8;

/** What is on its way arrives for as long as it takes, but not without anything arriving for so long. */
const STUCK_MS = 60_000;
const POLL_MS = 500;

/** The local stack gives up a part that ends five times within a minute; two faults end NATS. */
const NATS_ENDS = new Set(["kill nats", "set nats back"]);
const NATS_SPACING_MS = 16_000;

/** Until everything is there again after a fault. */
const BACK_MS = 60_000;

/** Of the stack's output, when it does not come back from a fault. */
const LINES_SHOWN = 200;

export type ChaosOptions = {
  seed: number;
  /** How many faults, one after the other. */
  faults: number;
  /** The longest pause of NATS. */
  pauseMs: number;
  /** Answers after which clients stop asking until the faults are over. */
  answersMax: number;
  log: (line: string) => void;
};

export type ChaosReport = { answered: number; unsure: number; stored: number; faults: string[] };

type Tally = { answered: number; unsure: number };

/** Throws when anything differs. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { log, answersMax } = options;
  await using stack = await startStack();
  await using cleanup = new AsyncDisposableStack();
  const lossy = startLossyClickHouse(() => stack.info().clickhouse_url);
  cleanup.defer(() => lossy.stop());
  const journal = join(stack.dataDir, "second-journal");
  mkdirSync(journal);
  const redirector = await keepRedirector(stack, journal);
  cleanup.defer(() => redirector.stop());
  const worker = await keepWorker(stack, lossy.url);
  cleanup.defer(() => worker.stop());
  const { key } = await createAccount(stack, "business");
  const links = await createLinks(stack, key);
  const tallies = new Map(links.map(({ id }): [string, Tally] => [id, { answered: 0, unsure: 0 }]));
  const refused = new Map<number, number>();
  let asked = 0;
  let stopped = false;
  cleanup.defer(() => void (stopped = true));

  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let i = client; !stopped; i += CLIENTS) {
      const link = links[i % LINKS];
      const tally = tallies.get(link?.id ?? "");
      if (link === undefined || tally === undefined) return;
      if (asked++ > answersMax) await Bun.sleep(50);
      const base = i % 2 === 0 ? stack.info().short_url : redirector.current().url;
      const status = await follow(new URL(link.alias, base).href, `198.51.100.${i % 200}`);
      if (status === undefined) tally.unsure++;
      else if (status === 302) tally.answered++;
      else refused.set(status, (refused.get(status) ?? 0) + 1);
    }
  });

  const faults = await makeTrouble(options, { stack, redirector, worker, lossy }).catch(
    (error: unknown) => {
      // What the stack itself has to say of it goes with it otherwise.
      log(stack.output().split("\n").slice(-LINES_SHOWN).join("\n"));
      throw error;
    },
  );
  stopped = true;
  await Promise.all(clients);
  if (refused.size > 0) throw new Error(`Redirects failed: ${JSON.stringify([...refused])}`);

  let stored = 0;
  for (const { id } of links) {
    const tally = tallies.get(id) ?? { answered: 0, unsure: 0 };
    stored += await expectFigures(stack, key, id, tally);
  }
  await expectSoundStreams(stack);
  const sum = (read: (tally: Tally) => number) =>
    [...tallies.values()].reduce((total, tally) => total + read(tally), 0);
  const report = {
    answered: sum((tally) => tally.answered),
    unsure: sum((tally) => tally.unsure),
    stored,
    faults,
  };
  log(`${report.answered} answered, ${report.unsure} unsure, ${report.stored} stored`);
  return report;
}

type Parts = { stack: Stack; redirector: Replaceable; worker: Replaceable; lossy: LossyClickHouse };

/** Each kind once at least, in an order of the seed's, then whatever it chooses. */
async function makeTrouble(
  { seed, faults: count, pauseMs, log }: ChaosOptions,
  parts: Parts,
): Promise<string[]> {
  const random = createRandom(seed);
  const { stack, redirector, worker, lossy } = parts;
  const kinds: Record<string, () => Promise<void>> = {
    "kill redirector": () => killPart(stack, "redirector"),
    "kill second redirector": () => redirector.kill(),
    "kill worker": () => killPart(stack, "worker"),
    "kill second worker": () => worker.kill(),
    "kill api": () => killPart(stack, "api"),
    "kill nats": () => killPart(stack, "nats"),
    "kill clickhouse": () => killPart(stack, "clickhouse"),
    "kill postgres": () => killPart(stack, "postgres"),
    "pause nats": () => pauseNats(stack, random.between(1_000, pauseMs)),
    "set nats back": () => setNatsBack(stack, random.between(2_000, 4_000)),
    "fill stream": () => fillStream(stack, random.between(1_000, 3_000)),
    "clickhouse fails": () => troubleClickHouse(lossy, "error", random.between(1_000, 3_000)),
    "clickhouse loses answers": () =>
      troubleClickHouse(lossy, "lost", random.between(1_000, 3_000)),
  };
  const done: string[] = [];
  let natsEndedAt = 0;
  let waiting = shuffle(Object.keys(kinds), random);
  while (done.length < count) {
    const name = waiting.pop();
    if (name === undefined) {
      waiting = shuffle(Object.keys(kinds), random);
      continue;
    }
    log(`${done.length + 1}. ${name}`);
    // What a fault needs may itself be on its way back from the one before.
    await eventually(() => expectWhole(stack), BACK_MS);
    if (NATS_ENDS.has(name)) {
      await Bun.sleep(Math.max(0, natsEndedAt + NATS_SPACING_MS - Date.now()));
      natsEndedAt = Date.now();
    }
    await kinds[name]?.();
    done.push(name);
    await Bun.sleep(random.between(200, 1_500));
  }
  return done;
}

function shuffle(names: string[], random: Random): string[] {
  const left = [...names];
  const mixed: string[] = [];
  while (left.length > 0) mixed.push(...left.splice(random.between(0, left.length - 1), 1));
  return mixed;
}

async function createLinks(stack: Stack, key: string) {
  return await Promise.all(
    Array.from({ length: LINKS }, async (_, i) => {
      const { body } = await call(`${stack.info().api_url}/v1/links`, {
        key,
        body: { url: `https://example.com/${i}` },
      });
      return linkAnswer.parse(body);
    }),
  );
}

/** Follows a link once; undefined when the answer never came. */
async function follow(url: string, address: string): Promise<number | undefined> {
  try {
    const headers = { "x-forwarded-for": address };
    return (await fetch(url, { redirect: "manual", headers })).status;
  } catch {
    // Its redirector is gone; another takes a moment.
    await Bun.sleep(20);
    return undefined;
  }
}

const figuresRow = z.object({
  clicks: z.coerce.number(),
  places: z.coerce.number(),
  rollup: z.coerce.number(),
  by_device: z.coerce.number(),
});

/** Waits until all that was answered is there, and gives the number of clicks. */
async function expectFigures(stack: Stack, key: string, id: string, tally: Tally): Promise<number> {
  const { answered, unsure } = tally;
  if (answered === 0) throw new Error("Nothing was answered.");
  const figures = await arrived(stack, key, id, answered);
  const { clicks } = figures;
  if (clicks > answered + unsure)
    throw new Error(`${id}: ${answered} answered, ${unsure} unsure, ${clicks} stored`);
  for (const [name, value] of Object.entries(figures)) {
    if (value !== clicks) throw new Error(`${id}: ${clicks} stored, ${name} ${value}`);
  }
  return clicks;
}

/** Waits until as many are stored as were answered, and the link says the same. */
async function arrived(stack: Stack, key: string, id: string, answered: number) {
  let last = "";
  let since = Date.now();
  for (;;) {
    const found = await readFigures(stack, id);
    const { body } = await call(`${stack.info().api_url}/v1/links/${id}`, { key });
    const { clicks } = linkAnswer.parse(body);
    if (found.clicks >= answered && clicks === found.clicks) return found;
    const told = `${answered} answered, ${found.clicks} stored, ${clicks} on the link`;
    if (told !== last) since = Date.now();
    last = told;
    if (Date.now() - since > STUCK_MS) throw new Error(`${id}: ${told}, and nothing more arrives.`);
    await Bun.sleep(POLL_MS);
  }
}

/** What ClickHouse holds of a link: rows, different places in journals, and both rollups. */
async function readFigures(stack: Stack, id: string) {
  const uuid = `link_id = {link: UUID}`;
  const query = `
    SELECT (SELECT count() FROM clicks WHERE ${uuid}) AS clicks,
           (SELECT uniqExact((journal_id, page, idx)) FROM clicks WHERE ${uuid}) AS places,
           (SELECT sum(clicks) FROM clicks_15m WHERE ${uuid}) AS rollup,
           (SELECT sum(clicks) FROM clicks_15m_by WHERE ${uuid} AND dimension = 'device') AS by_device
    FORMAT JSONEachRow`;
  const parameters = new URLSearchParams({ query, param_link: decodeId("link", id) ?? "" });
  const answer = await fetch(`${stack.info().clickhouse_url}/?${parameters.toString()}`);
  return figuresRow.parse(await answer.json());
}

/** The stream holds no page twice, and nothing was set aside. */
async function expectSoundStreams(stack: Stack): Promise<void> {
  const nats = await connect({ servers: stack.info().nats_url });
  const { streams } = await nats.jetstreamManager();
  const { state } = await streams.info(CLICKS_STREAM);
  const seen = new Set<string>();
  for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
    const { data } = await streams.getMessage(CLICKS_STREAM, { seq });
    const page = decodePage(Buffer.from(data));
    const id = page === undefined ? "no page" : pageIdText(page);
    if (seen.has(id)) throw new Error(`The stream holds ${id} twice.`);
    seen.add(id);
  }
  const dead = await streams.info(DEAD_CLICKS_STREAM);
  if (dead.state.messages > 0) throw new Error(`${dead.state.messages} pages were set aside.`);
  await nats.close();
}
