/**
 * Goal: whatever comes back older than it was (a redirector, NATS, PostgreSQL), every link leads
 * where PostgreSQL says, no cached link is lost meanwhile, nobody has to do anything, and what is
 * wrong is said. With thousands of links.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";

import { connect } from "nats";
import * as z from "zod";

import { BULK_LINKS_MAX } from "../../shared/contracts/link-schemas.ts";
import { natsLogin } from "../../shared/nats.ts";
import { admin, createAccount } from "../harness/admin.ts";
import { call, callOnce } from "../harness/api.ts";
import { BULK_LIMITS } from "../harness/bulk-links.ts";
import { eventually } from "../harness/eventually.ts";
import { findFeedConsumers } from "../harness/feed-consumers.ts";
import { type ExtraProcess, startRedirector } from "../harness/processes.ts";
import { endService, killNats, readWarnings, waitUntilEnded } from "../harness/services.ts";
import { createDataDir, removeDataDir, type Stack, startStack } from "../harness/stack.ts";

setDefaultTimeout(900_000);

const LINKS = 20_000;

/** Latest time until a redirector that comes back has what changed meanwhile. */
const CURRENT_MS = 2_000;

/** Latest time until a stream of so many links is filled again. */
const FILLED_MS = 30_000;

const bulkSchema = z.object({
  data: z.array(z.object({ link: z.object({ id: z.string(), alias: z.string() }) })),
});

type Link = { id: string; alias: string };

/** Creates links whose aliases begin with a word; each leads to its alias on example.com. */
async function createLinks(stack: Stack, key: string, count: number, word: string) {
  const links: Link[] = [];
  for (let start = 0; start < count; start += BULK_LINKS_MAX) {
    const rows = Array.from({ length: Math.min(BULK_LINKS_MAX, count - start) }, (_, i) => {
      const alias = `${word}-${start + i}`;
      return { alias, url: `https://example.com/${alias}` };
    });
    const url = `${stack.info().api_url}/v1/links/bulk`;
    const { body } = await call(url, { key, body: { links: rows } });
    links.push(...bulkSchema.parse(body).data.map(({ link }) => link));
  }
  return links;
}

const changeLink = async (stack: Stack, key: string, { id }: Link, url: string) => {
  const path = `${stack.info().api_url}/v1/links/${id}`;
  expect((await call(path, { key, method: "PATCH", body: { url } })).status).toBe(200);
};

/** Requests a short link once; returns status and destination. */
async function follow(origin: string, alias: string): Promise<string> {
  const { status, headers } = await callOnce(`${origin}/${alias}`);
  return `${status} ${headers.get("location") ?? ""}`.trim();
}

const leadsHome = ({ alias }: Link) => `302 https://example.com/${alias}`;

/** For all but the test that stops it, with an account and its links. */
let stack: Stack;
let key: string;
let links: Link[];
beforeAll(async () => {
  stack = await startStack();
  ({ key } = await createAccount(stack, "enterprise", BULK_LIMITS));
  links = await createLinks(stack, key, LINKS, "bulk");
});
afterAll(async () => await stack[Symbol.asyncDispose]());

/** How often a redirector is killed while links change. */
const KILLS = 2;

test("a redirector that was killed while links changed has the changes within two seconds, and one consumer", async () => {
  const JOURNAL_DIR = mkdtempSync(join(stack.dataDir, "killed-"));
  const followed = links.slice(100, 104);
  let redirector = await startRedirector(stack, { JOURNAL_DIR });
  for (const link of followed)
    expect(await follow(redirector.url, link.alias)).toBe(leadsHome(link));
  process.kill(redirector.pid, "SIGTERM");
  await waitUntilEnded(redirector.pid);
  redirector = await startRedirector(stack, { JOURNAL_DIR });
  for (let round = 0; round < KILLS; round++) {
    process.kill(redirector.pid, "SIGKILL");
    await waitUntilEnded(redirector.pid);
    for (const link of followed)
      await changeLink(stack, key, link, `https://example.com/${round}/${link.alias}`);
    redirector = await startRedirector(stack, { JOURNAL_DIR });
    await eventually(async () => {
      for (const { alias } of followed)
        expect(await follow(redirector.url, alias)).toBe(
          `302 https://example.com/${round}/${alias}`,
        );
    }, CURRENT_MS);
  }
  // The server removes those of killed processes after half a minute; a feed that begins again and
  // again has thousands.
  await eventually(async () => {
    const nats = await connect(natsLogin(stack.info().nats_url));
    const { used, unused } = await findFeedConsumers(nats);
    expect(used).toHaveLength(2);
    expect(unused).toEqual([]);
  }, 40_000);
  await redirector.stop();
});

test("of two redirectors that share a store one goes on when the other is killed, whichever of them writes it", async () => {
  const LINKS_DIR = mkdtempSync(join(stack.dataDir, "shared-"));
  const followed = links.slice(200, 204);
  const start = () => startRedirector(stack, { LINKS_DIR });
  let [killed, survivor] = [await start(), await start()];
  for (let round = 0; round < 2; round++) {
    for (const { url } of [killed, survivor])
      for (const link of followed) expect(await follow(url, link.alias)).toStartWith("302");
    process.kill(killed.pid, "SIGKILL");
    for (const link of followed)
      await changeLink(stack, key, link, `https://example.com/${round}/${link.alias}`);
    const expectChanged = (url: string) =>
      eventually(async () => {
        for (const { alias } of followed)
          expect(await follow(url, alias)).toBe(`302 https://example.com/${round}/${alias}`);
      }, CURRENT_MS);
    await expectChanged(survivor.url);
    // The other way round: the one that is killed next has written since.
    const next = await start();
    await expectChanged(next.url);
    [killed, survivor] = [survivor, next];
  }
  await Promise.all([killed.stop(), survivor.stop()]);
});

describe("a NATS that comes back", () => {
  test("empty is filled by itself: every link goes on, and it is said", async () => {
    const origin = stack.info().short_url;
    const cached = links.slice(0, 20);
    for (const link of cached) expect(await follow(origin, link.alias)).toBe(leadsHome(link));
    await using redirectors = new AsyncDisposableStack();
    const fresh = async (): Promise<ExtraProcess> => {
      const redirector = await startRedirector(stack);
      redirectors.defer(redirector.stop);
      return redirector;
    };
    const other = await fresh();
    const uncached = links.slice(1_000, -100);
    const last = links.slice(-20);

    await killNats(stack, () =>
      rmSync(join(stack.dataDir, "nats", "store"), { recursive: true, force: true }),
    );
    const lostAt = performance.now();
    const statuses = new Set<string>();
    const unknown = new Set<string>();
    let isFilled = false;
    const following = (async () => {
      while (!isFilled) {
        for (const { alias } of [...cached, ...uncached.splice(0, 20)])
          for (const url of [origin, other.url])
            statuses.add((await follow(url, alias)).slice(0, 3));
        unknown.add(await follow(other.url, "never-was-there"));
        // No faster than a network may request what is not there.
        await Bun.sleep(500);
      }
    })();
    const metricsUrls = [stack.info().api_metrics_url, other.metricsUrl];
    const warnings = new Set<string>();
    await eventually(async () => {
      for (const url of metricsUrls)
        for (const text of Object.values(await readWarnings(url))) warnings.add(text);
      expect([...warnings].join("\n")).toContain("lacks links");
    }, FILLED_MS);
    await eventually(async () => {
      for (const url of metricsUrls)
        expect((await readWarnings(url))["links_feed"]).toBeUndefined();
    }, FILLED_MS);
    console.log(`filled after ${((performance.now() - lostAt) / 1_000).toFixed(1)} s`);
    isFilled = true;
    await following;
    expect([...statuses]).toEqual(["302"]);
    // An alias without a link is 503 while nobody knows.
    expect([...unknown].filter((status) => status !== "404" && status !== "503")).toEqual([]);
    // As soon as this redirector, too, has reached NATS again.
    await eventually(
      async () => expect(await follow(other.url, "never-was-there")).toBe("404"),
      FILLED_MS,
    );
    const late = await fresh();
    for (const link of [...cached, ...last])
      expect(await follow(late.url, link.alias)).toBe(leadsHome(link));
  });

  test("from an older copy is filled by itself, and links deleted since then stay deleted", async () => {
    const store = join(stack.dataDir, "nats", "store");
    const copy = join(stack.dataDir, "nats", "copy");
    const [changed, deleted] = await createLinks(stack, key, 2, "early");
    if (changed === undefined || deleted === undefined) throw new Error("There are no links.");
    await killNats(stack, () => cpSync(store, copy, { recursive: true }));
    await eventually(async () => {
      const [late] = await createLinks(stack, key, 1, `late-${crypto.randomUUID().slice(0, 8)}`);
      expect(await follow(stack.info().short_url, late?.alias ?? "")).toStartWith("302");
    }, 20_000);
    const after = await createLinks(stack, key, 1_000, "after");
    await changeLink(stack, key, changed, "https://example.com/changed");
    await call(`${stack.info().api_url}/v1/links/${deleted.id}`, { key, method: "DELETE" });
    await killNats(stack, () => {
      rmSync(store, { recursive: true });
      cpSync(copy, store, { recursive: true });
    });
    // Without a cache: what it answers is what the stream says.
    const redirector = await startRedirector(stack);
    await eventually(async () => {
      expect(await follow(redirector.url, changed.alias)).toBe("302 https://example.com/changed");
      expect(await follow(redirector.url, deleted.alias)).toBe("404");
      for (const link of after.slice(-20))
        expect(await follow(redirector.url, link.alias)).toBe(leadsHome(link));
    }, FILLED_MS);
    await redirector.stop();
  });
});

/**
 * What a data directory holds beside programs and secrets, and the folder of a redirector that is
 * away.
 */
const PARTS = ["postgres", "nats", "journal", "links", "away"];

test("a PostgreSQL that comes back from a backup decides where links lead, beside the NATS of later and an empty one, on redirectors that were there and on one that was away", async () => {
  const dataDir = createDataDir();
  /** Copies a part of the data directory in place of another one, with its owners. */
  const copy = (from: string, to: string): void => {
    rmSync(join(dataDir, to), { recursive: true, force: true });
    const { exitCode } = Bun.spawnSync(["cp", "-a", join(dataDir, from), join(dataDir, to)]);
    expect(exitCode).toBe(0);
  };
  // ClickHouse has no part in where links lead, so the stacks use the one that runs.
  const env = { CLICKHOUSE_URL: stack.info().clickhouse_url };
  const later = await startStack({ dataDir, env });
  const account = await createAccount(later, "enterprise", BULK_LIMITS);
  const saved = await createLinks(later, account.key, 2_000, "saved");
  const [changed, deleted, kept] = saved;
  if (changed === undefined || deleted === undefined || kept === undefined)
    throw new Error("There are too few links.");
  // All of its processes have ended when it has: what is copied is a clean shutdown.
  await endService(later, "postgres", "SIGINT", () => copy("postgres", "postgres-backup"));

  const JOURNAL_DIR = join(dataDir, "away");
  mkdirSync(JOURNAL_DIR);
  const away = await startRedirector(later, { JOURNAL_DIR });
  const [created] = await eventually(
    () => createLinks(later, account.key, 1, "created-later"),
    20_000,
  );
  if (created === undefined) throw new Error("No link was created.");
  for (let i = 0; i < 20; i++)
    await changeLink(later, account.key, changed, `https://example.com/later/${i}`);
  await call(`${later.info().api_url}/v1/links/${deleted.id}`, {
    key: account.key,
    method: "DELETE",
  });
  await admin(later, ["links", "disable", "--host", "example.com"]);
  for (const origin of [later.info().short_url, away.url])
    await eventually(async () => {
      expect(await follow(origin, created.alias)).toStartWith("451");
      expect(await follow(origin, changed.alias)).toStartWith("451");
      expect(await follow(origin, kept.alias)).toStartWith("451");
    }, 10_000);
  process.kill(away.pid, "SIGTERM");
  await waitUntilEnded(away.pid);
  await later.stop();
  for (const part of PARTS) copy(part, `${part}-later`);

  for (const isEmpty of [false, true]) {
    for (const part of PARTS) copy(`${part}-later`, part);
    copy("postgres-backup", "postgres");
    if (isEmpty) rmSync(join(dataDir, "nats", "store"), { recursive: true });
    const restored = await startStack({ dataDir, env });
    const back = await startRedirector(restored, { JOURNAL_DIR });
    const expectAll = (destination: string) =>
      eventually(async () => {
        for (const origin of [restored.info().short_url, back.url]) {
          expect(await follow(origin, changed.alias)).toBe(destination);
          expect(await follow(origin, deleted.alias)).toBe(leadsHome(deleted));
          expect(await follow(origin, kept.alias)).toBe(leadsHome(kept));
          expect(await follow(origin, created.alias)).toBe("404");
        }
      }, FILLED_MS);
    await expectAll(leadsHome(changed));
    await changeLink(restored, account.key, changed, "https://example.com/after-the-restore");
    await expectAll("302 https://example.com/after-the-restore");
    // The command does it once more, and waits for it.
    expect(await admin<{ links: number }>(restored, ["links", "resync"])).toEqual({ links: 2_000 });
    await expectAll("302 https://example.com/after-the-restore");
    await back.stop();
    await restored.stop();
  }
  removeDataDir(dataDir);
});
