/**
 * Goal: a links feed that is divided among four streams is as good as one that is not: whatever
 * becomes of some of its streams, every link leads where PostgreSQL says, and nobody has to do
 * anything; and an installation gets there, and back, without a wrong redirect. With thousands of
 * links.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";

import { connect, type JetStreamManager, type NatsConnection } from "nats";
import * as z from "zod";

import { BULK_LINKS_MAX } from "../../shared/contracts/link-schemas.ts";
import { linksStreams } from "../../shared/contracts/links-streams.ts";
import { natsLogin } from "../../shared/nats.ts";
import { admin, createAccount } from "../harness/admin.ts";
import { call, callOnce } from "../harness/api.ts";
import { BULK_LIMITS } from "../harness/bulk-links.ts";
import { eventually } from "../harness/eventually.ts";
import { type ExtraProcess, startRedirector } from "../harness/processes.ts";
import { readReadiness, readWarnings, waitUntilEnded } from "../harness/services.ts";
import { createDataDir, removeDataDir, type Stack, startStack } from "../harness/stack.ts";

setDefaultTimeout(600_000);

const LINKS = 4_000;

/** Latest time until streams of so many links are filled again. */
const FILLED_MS = 60_000;

/** Latest time until a redirector has what just changed. */
const CURRENT_MS = 10_000;
const LISTEN_MS = 10;

const STREAMS = linksStreams(4).map(({ name }) => name);

const bulkSchema = z.object({
  data: z.array(z.object({ link: z.object({ id: z.string(), alias: z.string() }) })),
});

type Link = { id: string; alias: string };

let dataDir: string;
let stack: Stack;
let key: string;
let links: Link[];
let connection: NatsConnection;
let manager: JetStreamManager;

async function start(streams: string): Promise<void> {
  stack = await startStack({ dataDir, env: { LINKS_STREAMS: streams } });
  connection = await connect(natsLogin(stack.info().nats_url));
  manager = await connection.jetstreamManager();
}

/** Starts another redirector of this installation. */
const startOther = (env: Record<string, string> = {}): Promise<ExtraProcess> =>
  startRedirector(stack, { LINKS_STREAMS: "4", ...env });

async function stop(): Promise<void> {
  await connection.close();
  await stack.stop();
}

beforeAll(async () => {
  dataDir = createDataDir();
  await start("4");
  ({ key } = await createAccount(stack, "enterprise", BULK_LIMITS));
  links = await createLinks("bulk", LINKS);
});
afterAll(async () => {
  await stop();
  removeDataDir(dataDir);
});

/** Creates links; each leads to its alias on example.com. */
async function createLinks(word: string, count: number): Promise<Link[]> {
  const created: Link[] = [];
  for (let from = 0; from < count; from += BULK_LINKS_MAX) {
    const rows = Array.from({ length: Math.min(BULK_LINKS_MAX, count - from) }, (_, i) => {
      const alias = `${word}-${from + i}`;
      return { alias, url: `https://example.com/${alias}` };
    });
    const url = `${stack.info().api_url}/v1/links/bulk`;
    const { body } = await call(url, { key, body: { links: rows } });
    created.push(...bulkSchema.parse(body).data.map(({ link }) => link));
  }
  return created;
}

const homeOf = ({ alias }: Link, round = "") => `https://example.com/${round}${alias}`;

/** Changes where links lead, all at once. */
async function changeLinks(changed: readonly Link[], round: string): Promise<void> {
  for (let from = 0; from < changed.length; from += BULK_LINKS_MAX) {
    const rows = changed
      .slice(from, from + BULK_LINKS_MAX)
      .map((link) => ({ id: link.id, url: homeOf(link, round) }));
    const url = `${stack.info().api_url}/v1/links/bulk`;
    const { status } = await call(url, { key, method: "PATCH", body: { links: rows } });
    expect(status).toBe(200);
  }
}

/** Requests a short link once; returns status and destination. */
async function follow(origin: string, alias: string): Promise<string> {
  const { status, headers } = await callOnce(`${origin}/${alias}`);
  return `${status} ${headers.get("location") ?? ""}`.trim();
}

const expectAll = async (origin: string, followed: readonly Link[], round = ""): Promise<void> => {
  for (const link of followed)
    expect(await follow(origin, link.alias)).toBe(`302 ${homeOf(link, round)}`);
};

/**
 * Follows links on an origin until it is to stop, and returns everything that was not as it should
 * be.
 */
function followAlways(origin: string, followed: readonly Link[], round: string) {
  const wrong = new Set<string>();
  let stopped = false;
  const following = (async () => {
    for (let i = 0; !stopped; i = (i + 1) % followed.length) {
      const link = followed[i];
      if (link === undefined) continue;
      const found = await follow(origin, link.alias);
      if (found !== `302 ${homeOf(link, round)}`) wrong.add(`${link.alias}: ${found}`);
    }
  })();
  return async () => {
    stopped = true;
    await following;
    return [...wrong];
  };
}

/**
 * Listens to what an API process says of the links feed, often enough to hear of a filling that
 * takes a tenth of a second.
 */
function listen(metricsUrl: string): () => Promise<string> {
  const said = new Set<string>();
  let stopped = false;
  const listening = (async () => {
    while (!stopped) {
      said.add((await readWarnings(metricsUrl))["links_feed"] ?? "");
      await Bun.sleep(LISTEN_MS);
    }
  })();
  return async () => {
    stopped = true;
    await listening;
    return [...said].join();
  };
}

const expectNoWarning = async (metricsUrl: string): Promise<void> =>
  eventually(
    async () => expect((await readWarnings(metricsUrl))["links_feed"]).toBeUndefined(),
    FILLED_MS,
  );

const linksOf = (name: string): Promise<number> =>
  manager.streams.info(name).then(({ state }) => state.messages);

test("each of four streams has its share of the links, and of one that was deleted and one that was emptied all is right again", async () => {
  for (const name of STREAMS) expect(await linksOf(name)).toBeGreaterThan(LINKS / 5);
  const JOURNAL_DIR = mkdtempSync(join(stack.dataDir, "away-"));
  const away = await startOther({ JOURNAL_DIR });
  await expectAll(away.url, links.slice(0, 50));
  process.kill(away.pid, "SIGTERM");
  await waitUntilEnded(away.pid);

  const changed = links.slice(0, 2_000);
  const others = links.slice(2_000);
  await changeLinks(changed, "changed/");
  const { short_url, api_metrics_url } = stack.info();
  const stops = [
    followAlways(short_url, changed, "changed/"),
    followAlways(short_url, others.slice(0, 500), ""),
  ];
  const stopListening = listen(api_metrics_url);
  await manager.streams.delete("LINKS_4_1");
  await manager.streams.purge("LINKS_4_2");
  await eventually(async () => {
    for (const name of ["LINKS_4_1", "LINKS_4_2"])
      expect((await manager.streams.info(name)).state.messages).toBeGreaterThan(LINKS / 5);
  }, FILLED_MS);
  const said = await stopListening();
  expect(said).toContain("LINKS_4_1 lacks links");
  expect(said).toContain("LINKS_4_2 lacks links");
  // The other streams lack nothing.
  expect(said).not.toMatch(/LINKS_4_[03]/);
  const back = await startOther({ JOURNAL_DIR });
  await expectAll(
    back.url,
    changed.filter((_, i) => i % 10 === 0),
    "changed/",
  );
  await expectAll(
    back.url,
    others.filter((_, i) => i % 10 === 0),
  );
  await expectNoWarning(api_metrics_url);
  await expectNoWarning(back.metricsUrl);
  for (const stopFollowing of stops) expect(await stopFollowing()).toEqual([]);
  for (const name of STREAMS) expect(await linksOf(name)).toBeGreaterThan(LINKS / 5);
  // A host that has nothing yet gets all of it, and what is no link is 404.
  const fresh = await startOther();
  await expectAll(
    fresh.url,
    changed.filter((_, i) => i % 20 === 0),
    "changed/",
  );
  expect(await follow(fresh.url, "never-was-there")).toBe("404");
  await fresh.stop();
  // A takedown is in every stream.
  await admin(stack, ["links", "disable", "--host", "example.com"]);
  await eventually(async () => expect(await follow(back.url, "bulk-1")).toStartWith("451"), 10_000);
  await admin(stack, ["links", "enable", "--host", "example.com"]);
  await eventually(async () => expect(await follow(back.url, "bulk-1")).toStartWith("302"), 10_000);
  await back.stop();
});

test("a redirector that follows a feed to which nobody publishes does not say that a link does not exist", async () => {
  // Named so that nobody waits until it is ready, which it never is.
  const NATS_URL = stack.info().nats_url;
  const redirector = await startOther({ LINKS_STREAMS: "1", NATS_URL });
  await eventually(async () => {
    const { parts, warnings } = await readReadiness(redirector.metricsUrl);
    expect(parts["links_feed"]).toContain("lacks links");
    expect(warnings["links_feed"]).toContain("lacks links");
  }, CURRENT_MS);
  expect(await follow(redirector.url, "never-was-there")).toBe("503");
  await redirector.stop();
});

test("an installation gets to another number of streams and back: every link is right, and nobody has to do anything", async () => {
  const changed = await createLinks("moved", 1_000);
  let round = "";
  const expectRight = async (): Promise<void> => {
    const { short_url } = stack.info();
    await expectAll(
      short_url,
      changed.filter((_, i) => i % 25 === 0),
      round,
    );
    await expectAll(short_url, links.slice(2_000, 2_050));
    await eventually(
      async () => expect(await follow(short_url, "never-was-there")).toBe("404"),
      FILLED_MS,
    );
  };
  // The way that operations.md describes, there and back, and then without it.
  for (const streams of ["4,1", "1,4", "1", "1,4", "4,1", "4", "1", "4"]) {
    await stop();
    await start(streams);
    await expectRight();
    await expectNoWarning(stack.info().api_metrics_url);
    round = `${crypto.randomUUID()}/`;
    await changeLinks(changed, round);
    await eventually(expectRight, CURRENT_MS);
  }
});
