/** PostgreSQL: right about links, and never needed by a redirect. */
import { appendFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

import {
  findPrograms,
  initialise,
  prepareInstallation,
} from "../../../../deploy/local/postgres.ts";
import { loadSecrets } from "../../../../deploy/local/secrets.ts";
import { eventually } from "../../../harness/eventually.ts";
import { flipBit } from "../../../harness/flip-bit.ts";
import { endServices } from "../../../harness/services.ts";
import { copyStore, stopStores, storeDir } from "../../topologies/stores.ts";
import type { TwoHosts } from "../../topologies/two-hosts.ts";
import { type Drills, RESTARTED } from "./drill.ts";
import { expireStream } from "./processes.ts";
import { breakDisk, fillDisk } from "./store-disks.ts";

const NAMED = /postgres/;

/** The processes of the host that is restored. */
const PROCESSES = ["api", "redirector", "worker"] as const;

/** Requests that change a hundred links each: some 20 MB. */
const REQUESTS_MAX = 100;

/**
 * How often a change is refused, and the pause between: the first time PostgreSQL may have lost its
 * connections instead of saying that its disk is full.
 */
const REFUSED_TIMES = 10;
const REFUSED_PAUSE_MS = 1_000;

const STARTED_MS = 30_000;

/** A backup: the files of a server that has stopped, and what links lead to at that time. */
async function backUp(system: TwoHosts): Promise<() => Promise<void>> {
  const { followed, sql, stack } = system;
  const { putBack, forget } = await followed.without(async () => {
    const putBack = await copyStore(system, "postgres");
    await eventually(async () => void (await sql`select 1`), STARTED_MS);
    return { putBack, forget: followed.remember() };
  });
  // The procedure of docs/operations.md.
  return () =>
    followed.without(async () => {
      await endServices(stack, PROCESSES, "SIGTERM", () => undefined);
      await stopStores(system, ["postgres"], putBack);
      forget();
    });
}

/** A server that does not wait for its disk would lose what it acknowledged with it. */
const waitForDisk = (dir: string): void =>
  appendFileSync(join(dir, "postgresql.conf"), "fsync = on\nfull_page_writes = on\n");

/**
 * Changes links until the disk has no room for more. Throws unless the API says each time that it
 * is unavailable.
 */
async function useRoom({ followed }: TwoHosts): Promise<void> {
  for (let time = 0; time < REFUSED_TIMES; time++) {
    const status = await followed.without(() => followed.changeUntilRefused(REQUESTS_MAX));
    if (status !== 503) throw new Error(`On a full disk the API answers ${status}.`);
    await Bun.sleep(REFUSED_PAUSE_MS);
  }
}

export const POSTGRES_DRILLS = {
  "older copy": {
    promise:
      "Restored as in [operations](operations.md#backup-and-restore): links lead where the backup says, on every host.",
    ...RESTARTED,
    named: /links_feed|ShorthopFeedIncomplete|ShorthopProcessDown/,
    async inject(system) {
      const restore = await backUp(system);
      await system.rest();
      await system.followed.delete();
      await restore();
    },
  },
  empty: {
    promise:
      "A mount that was forgotten withdraws no link, also when the empty database is migrated, as `doctor` says: redirects go on, and all does when the right one is back.",
    named: NAMED,
    async inject(system) {
      const data = storeDir(system, "postgres");
      const { postgresPassword } = loadSecrets(join(system.stack.dataDir, "secrets.json"));
      const aside = `${data}.aside`;
      await stopStores(system, ["postgres"], async () => {
        renameSync(data, aside);
        const home = join(system.stack.dataDir, "postgres");
        const installation = prepareInstallation(await findPrograms(), home, () => undefined);
        await initialise(installation, postgresPassword);
      });
      await system.hold();
      // What `doctor` says of it.
      await system.doctor.run(["migrate"]);
      await system.hold();
      await stopStores(system, ["postgres"], () => {
        rmSync(data, { recursive: true });
        renameSync(aside, data);
      });
      await system.rest();
    },
  },
  "disk full": {
    promise:
      "Writes fail with 503, reads and redirects go on; all goes on by itself when there is room.",
    named: /disk is full/,
    inject: fillDisk("postgres", { use: useRoom }),
  },
  "read-only": {
    promise:
      "Redirects go on, the API responds with 503; it goes on when the disk is mended and PostgreSQL started again.",
    named: NAMED,
    inject: breakDisk("postgres", waitForDisk),
  },
  "one bit flipped": {
    promise:
      "Redirects go on. PostgreSQL's checksums name the page, requests for its links fail, until it is restored.",
    named: /postgres|corrupt|invalid page|ShorthopApiErrors/,
    async inject(system) {
      const restore = await backUp(system);
      await system.sql`checkpoint`;
      const [row] = await system.sql<[{ path: string }]>`
        select pg_relation_filepath('links') as path`;
      await stopStores(system, ["postgres"], () =>
        flipBit(join(storeDir(system, "postgres"), row.path)),
      );
      await system.hold();
      await restore();
    },
  },
  "away longer than every retention": {
    promise:
      "Redirects go on, clicks are stored; counters of links are right again although the stream of clicks has expired.",
    named: NAMED,
    inject: (system) =>
      stopStores(system, ["postgres"], async () => {
        await system.hold(AWAY_MS);
        await expireStream(system, "stored");
      }),
  },
} satisfies Drills;

/** Longer than idempotency, sessions and windows of the processes wait for it. */
const AWAY_MS = 45_000;
