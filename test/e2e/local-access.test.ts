/**
 * Goal: only its user can access the local stack, on a machine and in a browser shared with others.
 */
import { describe, expect, test } from "bun:test";
import { lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";

import { connect } from "nats";
import postgres from "postgres";

import { natsLogin } from "../../shared/nats.ts";
import { call } from "../harness/api.ts";
import { browserHeaders } from "../harness/dashboard.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { passProvider } from "../harness/oidc-provider.ts";
import { findProcesses, startStack } from "../harness/stack.ts";

/** Permissions of group and others. */
const SHARED = 0o077;

const stack = await forFile(startStack({ args: ["--oidc"] }));

const removeCredentials = (url: string): string => {
  const bare = new URL(url);
  return `${bare.protocol}//${bare.host}${bare.pathname}`;
};

describe("without its password", () => {
  test("ClickHouse rejects queries, and from web pages even with it", async () => {
    const { clickhouse_url } = stack.info();
    const body = "SELECT 1";
    expect((await fetch(clickhouse_url, { method: "POST", body })).status).toBe(200);
    expect((await fetch(removeCredentials(clickhouse_url), { method: "POST", body })).status).toBe(
      401,
    );
    const headers = { origin: "https://evil.example" };
    expect((await fetch(clickhouse_url, { method: "POST", body, headers })).status).toBe(403);
  });

  test("NATS rejects connections", async () => {
    const { nats_url } = stack.info();
    await (await connect(natsLogin(nats_url))).close();
    const rejected = { servers: new URL(nats_url).host, reconnect: false };
    expect(connect(rejected)).rejects.toThrow();
    expect(connect({ ...rejected, user: "shorthop", pass: "guess" })).rejects.toThrow();
  });

  test("PostgreSQL rejects connections", async () => {
    const { database_url } = stack.info();
    for (const password of ["", "guess"]) {
      const url = new URL(database_url);
      url.password = password;
      const sql = postgres(url.href, { max: 1, connect_timeout: 5, onnotice: () => undefined });
      expect(sql`select 1`.execute()).rejects.toThrow(/password/);
      await sql.end({ timeout: 1 });
    }
  });
});

/** Of a response, as a browser sends them back. */
const cookieOf = ({ headers }: { headers: Headers }): string =>
  headers
    .getSetCookie()
    .map((set) => set.split(";")[0])
    .join("; ");

test("the provider of --oidc signs in whom the banner names, by their password alone", async () => {
  const banner = /Provider\s+(\S+)\s+sign in as (\S+), password (\S+)/;
  const [, issuer = "", email = "", password = ""] = await eventually(async () => {
    const found = banner.exec(stack.output());
    if (found === null) throw new Error(stack.output());
    return found;
  });
  const { dashboard_url } = stack.info();
  const begun = await call(`${dashboard_url}/auth/oidc`, {
    method: "POST",
    headers: browserHeaders(stack),
  });
  const { url } = begun.body as { url: string };
  expect(url).toStartWith(issuer);
  const wrong = passProvider(url, dashboard_url, { email, password: "not the password" });
  expect(wrong).rejects.toThrow("That is another address or password.");
  const callback = await passProvider(url, dashboard_url, { email, password });
  const cookie = cookieOf(begun);
  const back = await fetch(callback, { redirect: "manual", headers: { cookie } });
  expect([back.status, back.headers.get("location")]).toEqual([302, "/"]);
  const session = await call(`${dashboard_url}/auth/session`, {
    headers: { cookie: cookieOf(back) },
  });
  expect(session.body).toMatchObject({ user: { email }, accounts: [{ role: "member" }] });
});

test("no password appears in a command line or a log", () => {
  const { database_url, nats_url, clickhouse_url } = stack.info();
  const secrets = [database_url, nats_url, clickhouse_url].map((url) => new URL(url).password);
  expect(secrets.every((secret) => secret.length >= 32)).toBe(true);
  expect(new Set(secrets).size).toBe(3);
  const logs = join(stack.dataDir, "logs");
  const shown = [
    stack.output(),
    ...readdirSync(logs).map((name) => readFileSync(join(logs, name), "utf8")),
    ...findProcesses(stack.dataDir).map(({ command }) => command),
  ].join("\n");
  expect(secrets.filter((secret) => shown.includes(secret))).toEqual([]);
});

test("other users of the machine cannot read the stack's files", () => {
  // Root's PostgreSQL runs as another user, which must be able to traverse the data directory, but
  // not list it.
  const traversable = process.getuid?.() === 0 ? 0o011 : 0;
  expect(statSync(stack.dataDir).mode & SHARED & ~traversable).toBe(0);
  const open = readdirSync(stack.dataDir)
    .map((name) => join(stack.dataDir, name))
    .filter((path) => !lstatSync(path).isSymbolicLink() && (statSync(path).mode & SHARED) !== 0);
  expect(open).toEqual([]);
});

test("all processes of the stack listen only on loopback", () => {
  const pids = Object.values(stack.info().pids).filter((pid) => pid !== null);
  const inodes = new Set(pids.flatMap(socketsOf));
  const listening = ["tcp", "tcp6"].flatMap((name) =>
    readFileSync(`/proc/net/${name}`, "utf8")
      .split("\n")
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode = ""]) => state === LISTEN && inodes.has(inode))
      .map(([, address = ""]) => address.split(":")[0]),
  );
  expect(listening.length).toBeGreaterThanOrEqual(6);
  // 127.0.0.1 and ::1 in the format of proc(5).
  const loopback = new Set([
    "0100007F",
    "00000000000000000000000001000000",
    "0000000000000000FFFF00000100007F",
  ]);
  expect(listening.filter((address) => !loopback.has(address ?? ""))).toEqual([]);
});

/** The state of a listening socket in /proc/net/tcp. */
const LISTEN = "0A";

/** Inodes of a process's open sockets. */
function socketsOf(pid: number): string[] {
  const dir = `/proc/${pid}/fd`;
  return readdirSync(dir).flatMap((fd) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(join(dir, fd)))?.[1] ?? [];
    } catch {
      return [];
    }
  });
}
