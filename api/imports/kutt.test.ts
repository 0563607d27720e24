/**
 * Goal: links and visits of Kutt come along from each of its databases, and the count of each hour,
 * country, referrer, browser and system is right. Method: its tables, as server/models of Kutt
 * creates them, in a file of SQLite, in PostgreSQL and in MariaDB.
 */
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { hasMariaDb, TestMariaDb } from "../../test/harness/mariadb.ts";
import { startPostgres, type TestPostgres } from "../../test/harness/postgres.ts";
import { Kutt } from "./kutt.ts";
import type { SourceVisits } from "./source.ts";

setDefaultTimeout(60_000);

const { signal } = new AbortController();

const COUNTED = [
  ...["chrome", "edge", "firefox", "ie", "opera", "other", "safari"].map((name) => `br_${name}`),
  ...["android", "ios", "linux", "macos", "other", "windows"].map((name) => `os_${name}`),
];

const tablesOf = (id: string, time: string, json: string) => [
  `create table domains (id ${id}, address varchar(255) not null)`,
  `create table links (id ${id}, address varchar(255) not null, description varchar(255),
     banned boolean not null default false, domain_id integer, password varchar(255),
     expire_in ${time}, target varchar(2040) not null, created_at ${time} not null)`,
  `create table visits (id ${id}, countries ${json}, created_at ${time} not null, link_id integer,
     referrers ${json}, total integer not null default 0,
     ${COUNTED.map((name) => `${name} integer not null default 0`).join(", ")})`,
];

const ROWS = [
  `insert into domains (id, address) values (1, 'go.example.com')`,
  `insert into links (id, address, description, banned, domain_id, password, expire_in, target, created_at)
   values (1, 'open', null, false, null, null, null, 'https://example.com/1', '2020-01-02 03:04:05'),
          (2, 'closed', 'A title', true, 1, '$2a$12$x', '2031-01-01 00:00:00', 'https://example.com/2', '2021-01-02 03:04:05')`,
  `insert into visits (id, countries, created_at, link_id, referrers, total, br_chrome, br_other, os_ios, os_windows)
   values (1, '{"de": 3, "unknown": 1, "us": 1}', '2020-02-03 04:00:00', 1, '{"direct": 2, "t[dot]co": 3}', 5, 4, 1, 2, 3),
          (2, '{"fr": 1}', '2020-03-03 04:00:00', 2, '{"direct": 1}', 1, 1, 0, 0, 1)`,
];

const sumBy = (
  visits: readonly SourceVisits[],
  name: "country" | "referrer" | "browser" | "os",
) => {
  const sums: Record<string, number> = {};
  for (const visit of visits)
    sums[visit[name] ?? ""] = (sums[visit[name] ?? ""] ?? 0) + visit.count;
  return sums;
};

async function expectAll(url: string): Promise<void> {
  await using kutt = new Kutt(url);
  const { rows: links, next } = await kutt.links(null, signal);
  expect(next).toBeNull();
  expect(links).toEqual([
    {
      id: "1",
      domain: null,
      alias: "open",
      url: "https://example.com/1",
      createdAt: new Date("2020-01-02T03:04:05Z"),
    },
    {
      id: "2",
      domain: "go.example.com",
      alias: "closed",
      url: "https://example.com/2",
      title: "A title",
      createdAt: new Date("2021-01-02T03:04:05Z"),
      expiresAt: new Date("2031-01-01T00:00:00Z"),
      settings: { disabled: true },
      left: ["its password: it is disabled until it gets one", "its ban: it is disabled"],
    },
  ]);
  expect((await kutt.links({ id: 1 }, signal)).rows.map(({ id }) => id)).toEqual(["2"]);
  const { rows: visits } = await kutt.visits(null, signal);
  const first = visits.filter(({ linkId }) => linkId === "1");
  expect(
    first.every(({ daily, at }) => daily && at.toISOString() === "2020-02-03T04:00:00.000Z"),
  ).toBe(true);
  expect(sumBy(first, "country")).toEqual({ DE: 3, "": 1, US: 1 });
  expect(sumBy(first, "referrer")).toEqual({ "": 2, "https://t.co/": 3 });
  expect(sumBy(first, "browser")).toEqual({ Chrome: 4, "": 1 });
  expect(sumBy(first, "os")).toEqual({ iOS: 2, Windows: 3 });
  expect(visits.filter(({ linkId }) => linkId === "2")).toEqual([
    {
      linkId: "2",
      at: new Date("2020-03-03T04:00:00Z"),
      daily: true,
      count: 1,
      country: "FR",
      referrer: "",
      browser: "Chrome",
      os: "Windows",
    },
  ]);
  expect((await kutt.visits({ id: 2 }, signal)).rows).toEqual([]);
}

describe("SQLite", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "kutt-"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test("links and visits come along", async () => {
    const path = join(folder, "kutt.sqlite");
    const database = new Database(path, { create: true });
    for (const statement of [...tablesOf("integer primary key", "datetime", "json"), ...ROWS])
      database.run(statement);
    database.close();
    await expectAll(`sqlite:${path}`);
    expect(Kutt.identify(`sqlite:${path}`)).toBe(path);
  });

  test("an hour with very many referrers, as strangers may have sent, takes no time of its own", async () => {
    const many = 150_000;
    const referrers = Object.fromEntries(Array.from({ length: many }, (_, i) => [`r${i}`, 1]));
    const path = join(folder, "many.sqlite");
    const database = new Database(path, { create: true });
    for (const statement of tablesOf("integer primary key", "datetime", "json"))
      database.run(statement);
    database.run(
      `insert into visits (countries, created_at, link_id, referrers, total)
       values ('{}', '2020-02-03 04:00:00', 1, ?, ?)`,
      [JSON.stringify(referrers), many],
    );
    database.close();
    await using kutt = new Kutt(`sqlite:${path}`);
    const { rows } = await kutt.visits(null, signal);
    expect(rows).toHaveLength(many);
    expect(rows.at(-1)?.referrer).toBe(`https://r${many - 1}/`);
  });

  test("without a file there is an error, and no file afterwards", async () => {
    const path = join(folder, "none.sqlite");
    const open = async () => {
      await using kutt = new Kutt(`sqlite:${path}`);
      return await kutt.links(null, signal);
    };
    expect(open()).rejects.toThrow();
    await open().catch(() => undefined);
    expect(await Bun.file(path).exists()).toBe(false);
  });
});

describe("PostgreSQL", () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres[Symbol.asyncDispose]());

  test("links and visits come along", async () => {
    await postgres.sql.unsafe(`create schema kutt`);
    const url = new URL(postgres.url);
    const kutt = [...tablesOf("serial primary key", "timestamptz", "jsonb"), ...ROWS];
    await postgres.sql.begin(async (sql) => {
      await sql.unsafe(`set local search_path = kutt; set local time zone 'UTC'`);
      for (const statement of kutt) await sql.unsafe(statement);
    });
    await postgres.sql.unsafe(
      `alter role "${decodeURIComponent(url.username)}" in database "${url.pathname.slice(1)}" set search_path = kutt`,
    );
    await expectAll(url.href);
  });

  test("its name has no credentials, and other URLs are refused", () => {
    expect(Kutt.identify("postgres://me:secret@db.test:5433/kutt")).toBe("db.test:5433/kutt");
    expect(() => Kutt.identify("https://db.test/kutt")).toThrow("It must be postgres://");
  });
});

describe.skipIf(!hasMariaDb())("MySQL", () => {
  let server: TestMariaDb;
  beforeAll(async () => {
    server = await TestMariaDb.start();
    const id = "int unsigned not null auto_increment primary key";
    for (const statement of [...tablesOf(id, "datetime", "json"), ...ROWS])
      await server.sql.unsafe(statement);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test("links and visits come along", () => expectAll(server.url));

  test("times are those of its server's zone", async () => {
    await using kutt = new Kutt(server.url, "America/New_York");
    const { rows: links } = await kutt.links(null, signal);
    expect(links.map(({ createdAt }) => createdAt?.toISOString())).toEqual([
      "2020-01-02T08:04:05.000Z",
      "2021-01-02T08:04:05.000Z",
    ]);
    const { rows: visits } = await kutt.visits(null, signal);
    expect(visits[0]?.at.toISOString()).toBe("2020-02-03T09:00:00.000Z");
  });
});
