/**
 * Goal: a backup has all that an empty machine needs, a drill proves it, and a restore compares
 * every count; a damaged one changes nothing, and neither does one into stores with data.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import * as z from "zod";

import { migratePostgres } from "../../api/migrations/migrate.ts";
import { usePostgres } from "../../api/postgres.ts";
import { createClient } from "../../clients/typescript/src/index.ts";
import { findDifferences, queryRows } from "../../shared/clicks/rollups.ts";
import { processLog } from "../../shared/log.ts";
import { withDatabase } from "../../shared/postgres.ts";
import { connectClickHouse } from "../../worker/clickhouse.ts";
import { createAccount, runAdmin } from "../harness/admin.ts";
import { call, callOnce } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { flipBit } from "../harness/flip-bit.ts";
import { findDebianPostgres, PostgresServer } from "../harness/postgres-server.ts";
import { parseMetrics } from "../harness/prometheus.ts";
import { TestS3 } from "../harness/s3.ts";
import { type Stack, startStack } from "../harness/stack.ts";
import { wholeDays } from "../harness/whole-days.ts";

const TIMEOUT_MS = 20_000;
const LINKS = 5;
const CLICKS = 12;

const counts = z.object({ backup: z.string(), links: z.unknown(), clicks: z.unknown() });
const listSchema = z.array(z.object({ backup: z.string(), proven: z.boolean() }));

const programs = findDebianPostgres();

const countLinks = (url: string): Promise<number> =>
  usePostgres(url, async (sql) => {
    const [row] = await sql<[{ links: number }]>`select count(*)::int as links from links`;
    return row.links;
  });

describe.skipIf(programs === undefined)("backups", () => {
  let postgres: PostgresServer;
  let stack: Stack;
  let s3: TestS3;
  let links = 0;
  const dir = mkdtempSync(join(tmpdir(), "shorthop-backup-"));
  const configDir = join(dir, "etc");
  const place = (name: string) => join(dir, name);

  beforeAll(async () => {
    postgres = await PostgresServer.startEmpty(programs ?? "");
    s3 = await TestS3.start();
    stack = await startStack({ env: { DATABASE_URL: postgres.url } });
    mkdirSync(configDir);
    writeFileSync(join(configDir, "worker.env"), "VISITOR_HASH_SECRET=of-this-test\n");
    const { api_url: baseUrl, short_url } = stack.info();
    const { key } = await createAccount(stack, "enterprise");
    const client = createClient({ baseUrl, apiKey: key });
    for (let i = 0; i < LINKS; i++)
      await client.links.create({ url: "https://example.com/b", alias: `b-${i}`, tags: ["x"] });
    for (let i = 0; i < CLICKS; i++) await call(new URL(`b-${i % 3}`, short_url).href);
    await eventually(async () => {
      const { data } = await client.links.list();
      expect(data.reduce((sum, { clicks }) => sum + clicks, 0)).toBe(CLICKS);
    }, TIMEOUT_MS);
    links = await countLinks(postgres.url);
    await usePostgres(postgres.url, async (sql) => {
      for (const role of ["shorthop_api", "shorthop_worker"]) await sql`create role ${sql(role)}`;
      await sql`grant select on links to shorthop_api`;
    });
  });
  afterAll(async () => {
    await stack?.[Symbol.asyncDispose]();
    await s3?.[Symbol.asyncDispose]();
    await postgres?.[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true, force: true });
  });

  const s3Env = () => ({ ...s3.place }) as Record<string, string>;

  /** Runs a command on the stack's stores, or on others of this name. */
  const run = (args: readonly string[], database?: string, path = `${programs}/bin`) =>
    runAdmin(stack, args, {
      ...s3Env(),
      PATH: `${path}:${process.env["PATH"]}`,
      SHORTHOP_CONFIG_DIR: configDir,
      DATABASE_URL: database === undefined ? postgres.url : withDatabase(postgres.url, database),
      CLICKHOUSE_URL: clickhouseUrl(database),
    });

  const clickhouseUrl = (database = "") =>
    new URL(`/${database}`, stack.info().clickhouse_url).href;

  async function succeed(args: readonly string[], database?: string) {
    const { code, stdout, stderr } = await run([...args, "--json"], database);
    expect([code, stderr.includes("failed")], stderr).toEqual([0, false]);
    return JSON.parse(stdout);
  }

  const createEmptyDatabase = (name: string) =>
    usePostgres(postgres.url, (sql) => sql`create database ${sql(name)}`.then(() => undefined));

  const readRows = async (database?: string): Promise<unknown> => {
    const clickhouse = connectClickHouse(clickhouseUrl(database));
    try {
      return await queryRows(
        clickhouse,
        "SELECT toString(link_id) AS link, toString(visitor) AS visitor, toFloat64(idx) AS idx FROM clicks ORDER BY ALL",
      );
    } finally {
      await clickhouse.close();
    }
  };

  test.each(["directory", "bucket"])("in a %s are proven and restored", async (kind) => {
    const to = kind === "directory" ? place("kept") : "s3://links-images/backups";
    const name = `restored_${kind}`;
    const made = counts.parse(await succeed(["backup", "--to", to]));
    expect(made).toMatchObject({ links, clicks: CLICKS });
    const compared = {
      backup: made.backup,
      links: `${links} of ${links}`,
      clicks: `${CLICKS} of ${CLICKS}`,
    };
    const proven = async () => listSchema.parse(await succeed(["backup", "list", "--from", to]));
    expect(await proven()).toEqual([{ backup: made.backup, proven: false }]);
    expect(await succeed(["backup", "drill", "--from", to])).toMatchObject(compared);
    expect(await proven()).toEqual([{ backup: made.backup, proven: true }]);

    await createEmptyDatabase(name);
    expect(await succeed(["restore", "--from", to], name)).toMatchObject(compared);
    expect(await countLinks(withDatabase(postgres.url, name))).toBe(links);
    expect(await readRows(name)).toEqual(await readRows());
    const clickhouse = connectClickHouse(clickhouseUrl(name));
    const now = Math.floor(Date.now() / 1_000);
    const range = wholeDays({ from: now - 172_800, to: now + 86_400 });
    expect(await findDifferences(clickhouse, range)).toEqual([]);
    await clickhouse.close();

    // Now there is data, which a restore would replace.
    const again = await run(["restore", "--from", to], name);
    expect([again.code, again.stderr]).toEqual([1, expect.stringMatching(/not empty|has data/)]);
    const other = await run(["restore", "--from", to, "--no-clicks"], name);
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining("has data")]);
  });

  test("are restored with all privileges into a migrated schema, and not beside tables of others; drills leave no database", async () => {
    const to = place("privileges");
    await succeed(["backup", "--to", to]);
    await succeed(["backup", "drill", "--from", to]);
    await usePostgres(postgres.url, async (sql) => {
      expect(await sql`select from pg_database where datname like '%drill'`).toHaveLength(0);
    });
    for (const name of ["migrated", "foreign"]) await createEmptyDatabase(name);
    const [migrated, foreign] = ["migrated", "foreign"].map((name) =>
      withDatabase(postgres.url, name),
    );
    await usePostgres(foreign ?? "", async (sql) => void (await sql`create table of_others ()`));
    await usePostgres(migrated ?? "", async (sql) => {
      await migratePostgres(sql, processLog("test", "silent"));
    });
    await succeed(["restore", "--from", to, "--no-clicks"], "migrated");
    await usePostgres(migrated ?? "", async (sql) => {
      const [row] = await sql<[{ granted: boolean }]>`
        select has_table_privilege('shorthop_api', 'links', 'select') as granted`;
      expect(row.granted).toBe(true);
    });
    const beside = await run(["restore", "--from", to, "--no-clicks"], "foreign");
    expect([beside.code, beside.stderr]).toEqual([1, expect.stringContaining("has data")]);
  });

  test("are none when they were not finished", async () => {
    const to = place("failed");
    const broken = mkdtempSync(join(dir, "broken-"));
    writeFileSync(join(broken, "pg_dump"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    expect((await run(["backup", "--to", to], undefined, broken)).code).toBe(1);
    expect(await succeed(["backup", "list", "--from", to])).toEqual([]);
  });

  test("have the configuration, which never replaces a file", async () => {
    const to = place("configuration");
    await succeed(["backup", "--to", to]);
    rmSync(join(configDir, "worker.env"));
    writeFileSync(join(configDir, "api.env"), "here=before\n");
    await succeed(["backup", "--to", to]);
    writeFileSync(join(configDir, "api.env"), "here=now\n");
    const [first] = listSchema.parse(await succeed(["backup", "list", "--from", to]));
    await succeed(["restore", "--from", to, "--configuration"]);
    await succeed(["restore", "--from", to, "--configuration", "--backup", first?.backup ?? ""]);
    expect(readFileSync(join(configDir, "worker.env"), "utf8")).toContain("of-this-test");
    expect(readFileSync(join(configDir, "api.env"), "utf8")).toBe("here=now\n");
    rmSync(join(configDir, "api.env"));
  });

  test("that are damaged, unfinished or of a later version change nothing", async () => {
    const to = place("damaged");
    const { backup } = counts.parse(await succeed(["backup", "--to", to]));
    await createEmptyDatabase("untouched");
    const files = [
      join(to, backup, "postgres.dump"),
      join(to, "clicks", readdirSync(join(to, "clicks"))[0] ?? ""),
    ];
    for (const path of files) {
      const whole = readFileSync(path);
      flipBit(path);
      const restored = await run(["restore", "--from", to], "untouched");
      expect([restored.code, restored.stderr]).toEqual([1, expect.stringContaining("is damaged")]);
      const drilled = await run(["backup", "drill", "--from", to]);
      expect(drilled.code).toBe(1);
      writeFileSync(path, whole);
    }
    const manifest = join(to, backup, "manifest.json");
    const text = readFileSync(manifest, "utf8");
    writeFileSync(manifest, text.replace(/"migration": \d+/, '"migration": 9999'));
    const later = await run(["restore", "--from", to], "untouched");
    expect([later.code, later.stderr]).toEqual([1, expect.stringContaining("does not know")]);
    // More rows than the dump has.
    writeFileSync(manifest, text.replace(/"links": \d+/, '"links": 1000'));
    const fewer = await run(["backup", "drill", "--from", to]);
    expect([fewer.code, fewer.stderr]).toEqual([1, expect.stringContaining("of 1000 rows")]);
    rmSync(manifest);
    const unfinished = await run(["restore", "--from", to], "untouched");
    expect([unfinished.code, unfinished.stderr]).toEqual([1, expect.stringContaining("no backup")]);
    expect(await succeed(["backup", "list", "--from", to])).toEqual([]);
    const tables = await usePostgres(
      withDatabase(postgres.url, "untouched"),
      async (sql) =>
        (await sql`select from pg_class where relnamespace = 'public'::regnamespace`).length,
    );
    expect(tables).toBe(0);
  });

  test("are in the metrics, and doctor names those that are missing", async () => {
    const to = place("metrics");
    const started = Date.now() / 1_000 - 1;
    await succeed(["backup", "--to", to]);
    await succeed(["backup", "drill", "--from", to]);
    const { body } = await callOnce(new URL("/metrics", stack.info().api_metrics_url).href);
    const families = parseMetrics(z.string().parse(body));
    for (const name of ["backup_timestamp_seconds", "backup_proven_timestamp_seconds"]) {
      const family = families.get(`shorthop_api_${name}`);
      expect([...(family?.samples.values() ?? [])][0]).toBeGreaterThan(started);
    }
  });
});
