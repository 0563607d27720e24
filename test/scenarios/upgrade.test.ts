/**
 * Goal: what an installation of an earlier release left behind goes on with the present version,
 * with every link, click and event, and the version before goes on with what the present one wrote.
 * Method: `shorthop restore` restores each file of test/scenarios/upgrade, beside the streams, the
 * links store and the journal of the same installation. `SHORTHOP_PREVIOUS` is the executable of
 * the version before; without one, the present version meets what a later one may leave.
 */
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { usePostgres } from "../../api/postgres.ts";
import { segmentPath } from "../../redirector/journal/files.ts";
import { encodeSegmentHeader } from "../../shared/contracts/click-segment.ts";
import { newUuid } from "../../shared/ids.ts";
import { withDatabase } from "../../shared/postgres.ts";
import { connectClickHouse } from "../../worker/clickhouse.ts";
import { runAdmin } from "../harness/admin.ts";
import { TestClickHouse } from "../harness/clickhouse.ts";
import { Dns } from "../harness/dns.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { findDebianPostgres, PostgresServer } from "../harness/postgres-server.ts";
import {
  attachStack,
  createDataDir,
  removeDataDir,
  type Stack,
  startStack,
} from "../harness/stack.ts";
import {
  BACKUP,
  CHAINS,
  readRecorded,
  readState,
  type Recorded,
  type State,
  unpack,
  visit,
} from "./upgrade/artifact.ts";

const TIMEOUT_MS = 60_000;

const RELEASES = readdirSync(join(import.meta.dir, "upgrade"))
  .filter((name) => name.endsWith(".tar.gz"))
  .map((name) => name.slice(0, -".tar.gz".length));

const PREVIOUS = process.env["SHORTHOP_PREVIOUS"];

const programs = findDebianPostgres();
const postgres =
  programs === undefined ? undefined : await forFile(PostgresServer.startEmpty(programs));
const dns = await forFile(Dns.start());

describe.skipIf(programs === undefined).each(RELEASES)("an installation of %s", (release) => {
  const dataDir = createDataDir();
  afterAll(() => removeDataDir(dataDir));
  const database = `of_${release.replaceAll(".", "_")}`;
  const databaseUrl = postgres === undefined ? "" : withDatabase(postgres.url, database);
  unpack(release, dataDir);
  const recorded = readRecorded(dataDir);
  dns.set(recorded.proof.name, [recorded.proof.value]);

  const start = (executable?: string): Promise<Stack> =>
    startStack({
      dataDir,
      env: {
        DATABASE_URL: databaseUrl,
        DNS_SERVERS: dns.address,
        // The events of the file become older.
        EVENTS_RETENTION_DAYS: "3650",
        ...(executable === undefined ? {} : { SHORTHOP_EXECUTABLE: executable }),
      },
    });

  /** Restores the backup into empty stores, by the command of operators. */
  async function restore(): Promise<void> {
    await usePostgres(postgres?.url ?? "", (sql) =>
      sql`create database ${sql(database)}`.then(() => undefined),
    );
    const clickhouse = await TestClickHouse.startIn(dataDir);
    const from = ["restore", "--from", join(dataDir, BACKUP)];
    const { code, stderr } = await runAdmin(attachStack(dataDir), from, {
      DATABASE_URL: databaseUrl,
      CLICKHOUSE_URL: clickhouse.url,
      PATH: `${programs}/bin:${process.env["PATH"]}`,
    });
    await clickhouse.stop();
    expect([code, stderr]).toEqual([0, expect.any(String)]);
  }

  /** After an upgrade there are all links, clicks, events and the audit chain. */
  async function expectUpgraded(): Promise<void> {
    await using stack = await start();
    await eventually(async () => {
      const { links } = await readState(stack, recorded.keys);
      const waiting = links.find(({ id }) => id === recorded.waiting.link);
      expect(waiting?.clicks).toBe(recorded.waiting.clicks);
    }, TIMEOUT_MS);
    const state = await readState(stack, recorded.keys);
    expect(withoutWaiting(state, recorded)).toEqual(withoutWaiting(recorded.state, recorded));
    const ofWaiting = state.clicks.filter((click) => click.link_id === recorded.waiting.link);
    expect(ofWaiting).toHaveLength(recorded.waiting.clicks);
    const chains = ["audit", "verify", "--expect", join(dataDir, CHAINS)];
    const verified = await runAdmin(stack, chains);
    expect([verified.code, verified.stderr]).toEqual([0, ""]);
    await expectAnswers(stack, recorded);
  }

  /** The version before goes on beside what a later one has left. */
  async function expectRolledBack(): Promise<void> {
    const later = newUuid();
    const path = segmentPath(join(dataDir, "journal"), { journalId: later, segment: 0 }, "segment");
    if (PREVIOUS === undefined) {
      await usePostgres(databaseUrl, async (sql) => {
        await sql`alter table links add column of_a_later_version text`;
        await sql`insert into schema_migrations (id, name, checksum) values (9999, 'later', '')`;
      });
      mkdirSync(join(dataDir, "links/links-2"));
      const header = encodeSegmentHeader({ journalId: later, segment: 0 });
      header.writeUInt8(2, 4);
      writeFileSync(path, header);
    }
    await using stack = await start(PREVIOUS);
    if (PREVIOUS === undefined) {
      const clickhouse = connectClickHouse(stack.info().clickhouse_url);
      await clickhouse.command({
        query: "ALTER TABLE clicks ADD COLUMN of_a_later_version String",
      });
      await clickhouse.close();
    }
    const before = await readClicks(stack, recorded);
    const redirects = await expectAnswers(stack, recorded);
    await eventually(async () => {
      expect(await readClicks(stack, recorded)).toBeGreaterThanOrEqual(before + redirects);
    }, TIMEOUT_MS);
    // It waits for a version that reads it.
    expect(existsSync(path)).toBe(PREVIOUS === undefined);
  }

  test("goes on after an upgrade, and with the version before", async () => {
    await restore();
    await expectUpgraded();
    await expectRolledBack();
  });
});

/** What the file says, but for the link whose clicks were on their way. */
const withoutWaiting = (
  { links, clicks, events, others }: State,
  { waiting, state }: Recorded,
) => ({
  links: links.filter(({ id }) => id !== waiting.link),
  clicks: clicks.filter((click) => click.link_id !== waiting.link),
  // More may have happened since.
  events: events.slice(0, state.events.length),
  others,
});

/** Visits all links again: each leads to where it did. Returns how many redirects are clicks. */
async function expectAnswers(stack: Stack, { visits }: Recorded): Promise<number> {
  const answers = await eventually(async () => {
    const found = await Promise.all(visits.map(({ path, host }) => visit(stack, path, host)));
    expect(found).toEqual(visits.map(({ answer }) => answer));
    return found;
  }, TIMEOUT_MS);
  return answers.filter(([, location]) => location !== null && location !== OVER).length;
}

/** Where an expired link leads, which is no click. */
const OVER = "https://example.com/over";

async function readClicks(stack: Stack, { keys }: Recorded): Promise<number> {
  const { links } = await readState(stack, keys);
  return links.reduce((sum, { clicks }) => sum + clicks, 0);
}
