import { describe, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type postgres from "postgres";
import * as z from "zod";

import { createCertificates } from "../test/harness/certificates.ts";
import { eventually } from "../test/harness/eventually.ts";
import { forFile } from "../test/harness/for-file.ts";
import { startPostgres, type TestPostgres } from "../test/harness/postgres.ts";
import { longTest } from "../test/harness/property-runs.ts";
import { replaceHost, TcpProxy } from "../test/harness/tcp-proxy.ts";
import { ConfigError, loadConfig } from "./env.ts";
import { connectPrimary, databaseOf, envPostgresUrl, withDatabase } from "./postgres.ts";

const load = (DATABASE_URL: string) =>
  loadConfig(z.object({ DATABASE_URL: envPostgresUrl }), { DATABASE_URL }).DATABASE_URL;

const database = await forFile(startPostgres());

describe("a PostgreSQL URL", () => {
  test.each([
    "postgres://u:p@localhost/shorthop",
    "postgresql://u:p%40ss@db-1:5432,db-2:5433/shorthop?sslmode=require",
    "postgres://u:p@[::1]:5432,[fd00::2]/shorthop",
  ])("may have several hosts with ports: %s", (url) => {
    expect(load(url)).toBe(url);
    expect(databaseOf(url)).toBe("shorthop");
  });

  test.each([
    "mysql://a/b",
    "postgres://",
    "postgres://u:p@a:x,b/c",
    "postgres://u@a,,b/c",
    "db-1",
  ])("is rejected at the start when it is none: %s", (url) =>
    expect(() => load(url)).toThrow(ConfigError),
  );

  test("keeps its hosts, user and options with another database", () => {
    expect(
      withDatabase("postgres://u:p%40ss@a,[::1]:5433/shorthop?sslmode=require", "postgres"),
    ).toBe("postgres://u:p%40ss@a:5432,[::1]:5433/postgres?sslmode=require");
  });
});

test.each([
  "sslmode=prefer&channel_binding=require&gssencmode=disable",
  "target_session_attrs=any&keepalives=1&keepalives_idle=30&application_name=own",
  "pgbouncer=true&options=-c%20search_path%3Dpublic",
])("a URL of a provider connects, also as one of several: ?%s", async (parameters) => {
  const { host } = new URL(database.url);
  for (const hosts of [host, `${host},${host}`]) {
    const url = `${database.url.replace(host, hosts)}?${parameters}`;
    const sql = connectPrimary(url, { max: 1, connect_timeout: 5 });
    const [row] = await sql<[{ one: number }]>`select 1 as one`;
    expect(row.one).toBe(1);
    await sql.end({ timeout: 1 });
  }
});

const LOSSES = 3;

/** Longer than it takes to notice a lost connection. */
const IDLE_MS = 50;

/**
 * How the work of a transaction goes on after its connection was lost while it had nothing to do
 * there.
 */
const ENDINGS: [name: string, (transaction: postgres.TransactionSql) => unknown][] = [
  ["waits for a statement", (transaction) => transaction`select pg_sleep(60)`],
  [
    "sends another statement",
    (transaction) => Bun.sleep(IDLE_MS).then(() => transaction`select 2`),
  ],
  ["ends", () => Bun.sleep(IDLE_MS)],
  [
    "fails",
    () => Bun.sleep(IDLE_MS).then(() => Promise.reject(new Error("Another host is away."))),
  ],
];

describe("a transaction whose connection is lost", () => {
  test.each(ENDINGS)(
    "is rejected, and neither ends the process nor takes the connection's place in the pool, when its work %s",
    async (_, work) => {
      const proxy = new TcpProxy(Number(new URL(database.url).port));
      const sql = connectPrimary(
        replaceHost(database.url, "127.0.0.1", proxy.port) + new URL(database.url).pathname,
        {
          max: 1,
          connect_timeout: 5,
        },
      );
      for (let i = 0; i < LOSSES; i++) {
        const begun = Promise.withResolvers<void>();
        const lost = sql.begin(async (transaction) => {
          await transaction`select 1`;
          begun.resolve();
          await work(transaction);
        });
        await begun.promise;
        proxy.cut();
        expect(lost).rejects.toThrow(/CONNECTION_CLOSED|ECONNRESET/);
        await lost.catch(() => undefined);
        // The work goes on.
        await Bun.sleep(2 * IDLE_MS);
        proxy.mend();
        const [row] = await eventually(() => sql<[{ one: number }]>`select 1 as one`);
        expect(row.one).toBe(1);
      }
      await sql.end({ timeout: 1 });
      proxy.stop();
    },
  );
});

/** More than any statement or end of a transaction needs from its call until it is sent. */
const MICROTASKS = 20;

/** What may be under way while a connection closes. */
const UNDER_WAY: [name: string, (sql: postgres.Sql, close: () => void) => Promise<unknown>][] = [
  ["a statement", (sql, close) => (close(), sql`select 2`)],
  ["the end of a transaction", (sql, close) => sql.begin(() => close())],
  ["a statement of a transaction", (sql, close) => sql.begin((own) => (close(), own`select 2`))],
  [
    "the failure of a transaction",
    (sql, close) => sql.begin(() => (close(), Promise.reject(new Error("Not now.")))),
  ],
  [
    "a statement of a reserved connection",
    async (sql, close) => {
      const reserved = await sql.reserve();
      close();
      await reserved`select 2`.finally(() => reserved.release());
    },
  ],
  [
    "the release of a reserved connection",
    async (sql, close) => {
      const reserved = await sql.reserve();
      close();
      reserved.release();
    },
  ],
];

describe("a connection that closes", () => {
  test.each(UNDER_WAY)(
    "in whichever step of %s neither ends the process nor is lost to the pool",
    async (_, work) => {
      const { hostname, port } = new URL(database.url);
      let socket: Socket | undefined;
      // Untyped by the library: a function that returns a socket.
      const options = { max: 1, socket: () => (socket = connect(Number(port), hostname)) };
      const sql = connectPrimary(database.url, options);
      for (let step = 0; step < MICROTASKS; step++) {
        await sql`select 1`;
        const close = () => void closeAfter(step, socket);
        const outcome = await work(sql, close).then(
          () => "done",
          (error: Error) => error.message,
        );
        expect(outcome).toMatch(/^done$|CONNECTION_CLOSED|Not now/);
        // Also the next statement may be sent just before the connection closes.
        const [row] = await eventually(() => sql<[{ one: number }]>`select 1 as one`);
        expect(row.one).toBe(1);
      }
      await sql.end({ timeout: 1 });
    },
  );
});

/** As many as the library sends over a connection before the first is answered, or nearly. */
const WAITING = [98, 99, 100, 101, 102];

test("a transaction has its connection to itself, however many statements wait there", async () => {
  const sql = connectPrimary(database.url, { max: 1 });
  await sql`create table written (what text)`;
  const outcomes: string[] = [];
  for (const count of WAITING) {
    const waiting = Array.from({ length: count }, (_, i) => sql`select ${i}::integer`.execute());
    const failing = sql.begin(async (own) => {
      await own`insert into written values ('rolled back')`;
      throw new Error("Not now.");
    });
    const other = sql`insert into written values (${count})`.execute();
    outcomes.push(await failing.catch((error: Error) => error.message));
    await Promise.all([...waiting, other]);
  }
  expect(outcomes).toEqual(WAITING.map(() => "Not now."));
  await sql.end({ timeout: 1 });
  const rows = await database.sql<{ what: string }[]>`select what from written`;
  expect(rows.map(({ what }) => Number(what)).toSorted((a, b) => a - b)).toEqual(WAITING);
});

test.each([1, 2])(
  "who waits for a connection of their own gets it when another is lost: of %d",
  async (max) => {
    const sql = connectPrimary(database.url, { max, backoff: false });
    const held = await sql.reserve();
    const [{ pid }] = await held<[{ pid: number }]>`select pg_backend_pid() as pid`;
    // With a second connection, that is being opened when the first is lost.
    const waiting = Array.from({ length: max }, () => sql.reserve());
    await database.sql`select pg_terminate_backend(${pid})`;
    const pids = new Set([pid]);
    for (const own of await Promise.all(waiting)) {
      const [row] = await own<[{ pid: number }]>`select pg_backend_pid() as pid`;
      pids.add(row.pid);
      own.release();
    }
    expect(pids.size).toBe(1 + max);
    await sql.end({ timeout: 1 });
  },
);

test("what a server said when it ended a statement is not the answer to the next one", async () => {
  const sql = connectPrimary(database.url, { max: 1, backoff: false });
  for (let i = 0; i < LOSSES; i++) {
    const [{ pid }] = await sql<[{ pid: number }]>`select pg_backend_pid() as pid`;
    const ended = sql`select pg_sleep(60)`.execute();
    await eventually(async () => {
      const [row] = await database.sql<[{ ended: boolean }?]>`
        select pg_terminate_backend(pid) as ended from pg_stat_activity
         where pid = ${pid} and query like '%pg_sleep%'`;
      expect(row?.ended).toBe(true);
    });
    expect(ended).rejects.toThrow("CONNECTION_CLOSED");
    await ended.catch(() => undefined);
  }
  await sql.end({ timeout: 1 });
});

test.each([1, 2])(
  "a statement fails when connections are accepted and closed, as by a balancer without servers: of %d hosts",
  async (count) => {
    const balancer = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: { data: (socket) => void socket.end() },
    });
    const { host, pathname } = new URL(database.url);
    const hosts = Array.from({ length: count }, () => `127.0.0.1:${balancer.port}`).join(",");
    const url = database.url.replace(host + pathname, hosts + pathname);
    const sql = connectPrimary(url, { max: 1, connect_timeout: 1, backoff: false });
    const failing = sql`select 1`.execute();
    expect(failing).rejects.toThrow(/CONNECTION_CLOSED|No PostgreSQL host is a primary/);
    await failing.catch(() => undefined);
    await sql.end({ timeout: 1 });
    balancer.stop(true);
  },
);

/** Closes a socket after some microtasks, and says so at once. */
async function closeAfter(microtasks: number, socket: Socket | undefined): Promise<void> {
  for (let i = 0; i < microtasks; i++) await Promise.resolve();
  socket?.emit("close", false);
  socket?.destroy();
}

/** Has the server accept only TLS; returns the file of its authority. */
async function demandTls({ sql }: TestPostgres): Promise<string> {
  const [{ data, hba }] = await sql<[{ data: string; hba: string }]>`
    select current_setting('data_directory') as data, current_setting('hba_file') as hba`;
  const { uid, gid } = statSync(data);
  const { ca, cert, key } = createCertificates(data);
  for (const path of [cert, key]) chownSync(path, uid, gid);
  chmodSync(key, 0o600);
  await sql.unsafe(`alter system set ssl_cert_file = '${cert}'`);
  await sql.unsafe(`alter system set ssl_key_file = '${key}'`);
  await sql.unsafe("alter system set ssl = on");
  writeFileSync(hba, "hostssl all all all scram-sha-256\n");
  await sql`select pg_reload_conf()`;
  return ca;
}

/** Whether the connection of a URL is encrypted. Rejects when there is none. */
async function isEncrypted(url: string): Promise<boolean> {
  const sql = connectPrimary(url, { max: 1, connect_timeout: 5, onnotice: () => undefined });
  try {
    const [row] = await sql<{ ssl: boolean }[]>`
      select ssl from pg_stat_ssl where pid = pg_backend_pid()`;
    return row?.ssl === true;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

longTest(
  "a certificate is verified by the authorities of sslrootcert, and for the host of the URL",
  async () => {
    await using postgres = await startPostgres({ ownServer: true });
    const ca = await demandTls(postgres);
    const parameters = (text: string, url = postgres.url) => `${url}?${text}`;
    await eventually(async () => {
      expect(isEncrypted(postgres.url)).rejects.toThrow();
      expect(await isEncrypted(parameters(`sslrootcert=${ca}`))).toBe(true);
    });
    expect(await isEncrypted(parameters(`sslmode=verify-full&sslrootcert=${ca}`))).toBe(true);
    expect(await isEncrypted(parameters("sslmode=require"))).toBe(true);

    const dir = mkdtempSync(join(tmpdir(), "shorthop-ca-"));
    const foreign = createCertificates(dir).ca;
    expect(isEncrypted(parameters(`sslrootcert=${foreign}`))).rejects.toThrow();
    expect(isEncrypted(parameters("sslmode=verify-full"))).rejects.toThrow();
    expect(isEncrypted(parameters("sslrootcert=/does/not/exist"))).rejects.toThrow("ENOENT");
    rmSync(dir, { recursive: true });

    // The certificate has other names than this address.
    const proxy = new TcpProxy(Number(new URL(postgres.url).port), "127.0.0.2");
    const elsewhere = new URL(postgres.url);
    elsewhere.host = `127.0.0.2:${proxy.port}`;
    expect(isEncrypted(parameters(`sslrootcert=${ca}`, elsewhere.href))).rejects.toThrow();
    const anyName = parameters(`sslmode=verify-ca&sslrootcert=${ca}`, elsewhere.href);
    expect(await isEncrypted(anyName)).toBe(true);
    // One of several hosts, each of which the certificate may name.
    const hosts = new URL(postgres.url).host;
    const both = postgres.url.replace(hosts, `${hosts},${hosts}`);
    expect(await isEncrypted(parameters(`sslrootcert=${ca}`, both))).toBe(true);
    proxy.stop();
  },
);
