/**
 * Goal: whatever comes back older than it was, stops or dies (NATS, PostgreSQL, both, a host, an
 * API process), every link that exists redirects, no host goes back to an older state within a
 * term, takedowns work, and all is right again without an operator. With thousands of links.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

import { connect, type JetStreamManager } from "nats";
import postgres from "postgres";

import { lockSnapshot } from "../../api/links-snapshots/sql.ts";
import { decodeId } from "../../shared/ids.ts";
import { SNAPSHOTS_STREAM } from "../../shared/links-log/snapshot-stream.ts";
import { LINK_LOG_STREAM } from "../../shared/links-log/tail.ts";
import { natsLogin } from "../../shared/nats.ts";
import { copyAside, storeDir } from "../drills/matrix/files.ts";
import { stopStores } from "../drills/matrix/stop.ts";
import { admin, createAccount } from "../harness/admin.ts";
import { eventually } from "../harness/eventually.ts";
import { FollowedLinks, type Host } from "../harness/followed-links.ts";
import { seedLinks } from "../harness/links-seed.ts";
import { findLogConsumers } from "../harness/log-consumers.ts";
import { type ExtraProcess, startApi, startRedirector } from "../harness/processes.ts";
import { LONG } from "../harness/property-runs.ts";
import { pidOf, readWarnings, waitUntilEnded } from "../harness/services.ts";
import { type Stack, startStack } from "../harness/stack.ts";

setDefaultTimeout(600_000);

/** Links that are followed, and others beside them. */
const FOLLOWED = 1_000;
const OTHERS = 19_000;

const DELETED = 20;

/** What is lost of a store that comes back older: changes of so long. */
const LOST_MS = LONG ? 60_000 : 8_000;

/** How long a fault stays, so that it is noticed. */
const HELD_MS = 3_000;

/** Latest time until everything is right again. */
const RIGHT_MS = 30_000;

/** Longer than a poll of an API process: after it, each of them waits to number. */
const POLLED_MS = 1_500;

let stack: Stack;
let links: FollowedLinks;
let other: ExtraProcess;
let env: Record<string, string>;

/** Two hosts: the stack's, and one whose links are read from its store, as its memory is small. */
const hosts = (): readonly Host[] => [
  {
    name: "first",
    url: stack.info().short_url,
    metricsUrl: stack.info().redirector_metrics_url,
  },
  { name: "other", url: other.url, metricsUrl: other.metricsUrl },
];

beforeAll(async () => {
  stack = await startStack({ empty: true });
  const { id } = await createAccount(stack, "enterprise");
  await withSql((sql) => seedLinks(sql, decodeId("acct", id) ?? "", OTHERS));
  links = await FollowedLinks.create(stack, FOLLOWED);
  await admin(stack, ["links", "resync"]);
  const folder = (name: string) => mkdtempSync(join(stack.dataDir, `${name}-`));
  env = {
    LINKS_DIR: folder("links"),
    JOURNAL_DIR: folder("journal"),
    CACHE_BYTES_MAX: String(1024 ** 2),
  };
  other = await startRedirector(stack, env);
});
afterAll(async () => {
  await other.stop();
  await stack[Symbol.asyncDispose]();
});

async function withSql<T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(stack.info().database_url, { max: 2, onnotice: () => undefined });
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
}

async function onStreams<T>(work: (manager: JetStreamManager) => Promise<T>): Promise<T> {
  const connection = await connect(natsLogin(stack.info().nats_url));
  try {
    return await work(await connection.jetstreamManager());
  } finally {
    await connection.close();
  }
}

type StoreName = "postgres" | "nats";

/** Copies a store while it is stopped; returns what puts the copy in its place. */
async function copyStore(name: StoreName): Promise<() => void> {
  let putBack: (() => void) | undefined;
  await stopStores({ stack }, [name], () => {
    const dir = storeDir({ stack }, name);
    const copy = join(dirname(dir), "scenario-copy");
    rmSync(copy, { recursive: true, force: true });
    putBack = copyAside(dir, copy);
  });
  return () => putBack?.();
}

/**
 * Stores come back older, those that are named first by more; and NATS empty, if it is told to. All
 * hosts have seen what is lost. With `paused` the API process stands still meanwhile, and until it
 * is told to go on.
 */
async function comeBackOlder(
  names: readonly StoreName[],
  {
    isEmpty = false,
    paused,
  }: { isEmpty?: boolean; paused?: (resume: () => void) => Promise<void> } = {},
): Promise<void> {
  const copies: (() => void)[] = [];
  let goBack: (() => void) | undefined;
  for (const name of names) {
    await links.without(async () => {
      copies.push(await copyStore(name));
      if (name === "postgres") goBack = links.remember();
    });
    await Bun.sleep(LOST_MS);
  }
  await links.delete(DELETED);
  const api = pidOf(stack, "api");
  await links.without(async () => {
    if (paused !== undefined) process.kill(api, "SIGSTOP");
    await stopStores({ stack }, isEmpty ? [...names, "nats"] : names, () => {
      goBack?.();
      for (const putBack of copies) putBack();
      if (isEmpty) rmSync(storeDir({ stack }, "nats"), { recursive: true });
    });
    await paused?.(() => process.kill(api, "SIGCONT"));
  });
  await Bun.sleep(HELD_MS);
}

/** Ends the other host's redirector, and starts it again after something else. */
async function withoutOther(signal: NodeJS.Signals, meanwhile: () => Promise<void>): Promise<void> {
  process.kill(other.pid, signal);
  await waitUntilEnded(other.pid);
  await meanwhile();
  other = await startRedirector(stack, env);
}

/** Removes all entries but the last one, as when they were behind snapshots that are gone as well. */
const truncateTail = () => onStreams(({ streams }) => streams.purge(LINK_LOG_STREAM, { keep: 1 }));

/**
 * Has the stack's API process stop after it has numbered changes, and before it publishes them:
 * PostgreSQL makes it wait, and goes on when the process has stopped.
 */
async function stopPublisher(meanwhile: () => Promise<void>): Promise<void> {
  const pid = pidOf(stack, "api");
  await withSql((sql) =>
    sql.begin(async (lock) => {
      await lock`select from link_log_head for update`;
      await Bun.sleep(POLLED_MS);
      process.kill(pid, "SIGSTOP");
    }),
  );
  try {
    await meanwhile();
  } finally {
    process.kill(pid, "SIGCONT");
  }
}

/** While `work` runs, no snapshot is made: who needs one has to wait. */
const withoutSnapshots = (work: () => Promise<void>): Promise<void> =>
  withSql(async (sql) => {
    // It may just be starting.
    await eventually(async () => void (await sql`select 1`), RIGHT_MS);
    await sql.begin(async (lock) => {
      await eventually(async () => expect(await lockSnapshot(lock)).toBe(true), RIGHT_MS);
      await work();
    });
  });

const expectIncomplete = (): Promise<void> =>
  eventually(async () => {
    for (const { metricsUrl } of hosts())
      expect(Object.keys(await readWarnings(metricsUrl)).join()).toMatch(/link/);
  }, RIGHT_MS);

const FAULTS: readonly { name: string; inject: () => Promise<void> }[] = [
  { name: "NATS comes back a minute older beside changes", inject: () => comeBackOlder(["nats"]) },
  {
    name: "NATS comes back empty",
    inject: () =>
      stopStores({ stack }, ["nats"], () =>
        rmSync(storeDir({ stack }, "nats"), { recursive: true }),
      ),
  },
  {
    name: "PostgreSQL comes back older beside the NATS of later",
    inject: () => comeBackOlder(["postgres"]),
  },
  {
    name: "the tail and the snapshots are deleted",
    inject: () =>
      onStreams(async ({ streams }) => {
        for (const name of [LINK_LOG_STREAM, SNAPSHOTS_STREAM]) await streams.delete(name);
      }),
  },
  {
    name: "PostgreSQL comes back older beside an empty NATS",
    inject: () => comeBackOlder(["postgres"], { isEmpty: true }),
  },
  {
    name: "a host is killed while links change",
    inject: () => withoutOther("SIGKILL", () => Bun.sleep(HELD_MS)),
  },
  {
    name: "both come back older, PostgreSQL by more",
    inject: () => comeBackOlder(["postgres", "nats"]),
  },
  {
    name: "a host is away for longer than the tail",
    inject: () =>
      withoutOther("SIGTERM", async () => {
        await links.delete(DELETED);
        await truncateTail();
      }),
  },
  {
    name: "both come back older, NATS by more",
    inject: () => comeBackOlder(["nats", "postgres"]),
  },
  {
    name: "a publisher stops between numbering and publishing, and goes on when others have published",
    inject: async () => {
      const second = await startApi(stack);
      await stopPublisher(async () => {
        links.useApi(second);
        await links.waitUntilRight(hosts, RIGHT_MS);
        links.useApi();
      });
      await Bun.sleep(HELD_MS);
      await second.stop();
    },
  },
  {
    name: "a takedown, while every host waits for a snapshot",
    inject: () =>
      comeBackOlder(["postgres"], {
        paused: (resume) =>
          withoutSnapshots(async () => {
            // Those that are stored are of no use any more.
            await onStreams(({ streams }) => streams.purge(SNAPSHOTS_STREAM));
            resume();
            await links.expectTakedown(hosts, expectIncomplete);
          }),
      }),
  },
  {
    name: "a host is away while NATS comes back a minute older, and is filled past what it knows",
    inject: () =>
      withoutOther("SIGKILL", async () => {
        await comeBackOlder(["nats"]);
        await Bun.sleep(LOST_MS);
      }),
  },
];

test.each([...FAULTS])(
  "$name: every link redirects, and all is right again",
  async ({ name, inject }) => {
    await links.waitUntilRight(hosts, RIGHT_MS);
    links.start(hosts);
    await inject();
    const mendedAt = performance.now();
    await links.stopChanging();
    await links.waitUntilRight(hosts, RIGHT_MS);
    console.log(`${name}: right after ${((performance.now() - mendedAt) / 1_000).toFixed(1)} s`);
    await links.expectTakedown(hosts);
    expect(await links.stop()).toEqual([]);
  },
);

test("a host without links has all of them, and the streams have one consumer for each host", async () => {
  const fresh = await startRedirector(stack);
  await links.waitUntilRight(() => [{ ...fresh, name: "fresh" }], RIGHT_MS);
  await fresh.stop();
  // The server removes those of redirectors that have ended after half a minute.
  await eventually(async () => {
    const { used, unused } = await findLogConsumers(
      await connect(natsLogin(stack.info().nats_url)),
    );
    expect([used.length, unused.length]).toEqual([hosts().length, 0]);
  }, 40_000);
});

test("of two redirectors that share a store one goes on when the other is killed, whichever of them writes it", async () => {
  const LINKS_DIR = mkdtempSync(join(stack.dataDir, "shared-"));
  const start = () => startRedirector(stack, { LINKS_DIR });
  let [killed, survivor] = [await start(), await start()];
  for (let round = 0; round < 2; round++) {
    const pair = (): readonly Host[] => [{ ...survivor, name: `survivor ${round}` }];
    links.start(pair);
    process.kill(killed.pid, "SIGKILL");
    await Bun.sleep(HELD_MS);
    await links.stopChanging();
    await links.waitUntilRight(pair, RIGHT_MS);
    expect(await links.stop()).toEqual([]);
    // The other way round: the one that is killed next has written since.
    [killed, survivor] = [survivor, await start()];
  }
  await Promise.all([killed.stop(), survivor.stop()]);
});
