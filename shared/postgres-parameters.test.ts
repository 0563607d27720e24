/**
 * Goal: a server that demands TLS of a private authority can be used, and no other is taken for it.
 */
import { expect } from "bun:test";
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createCertificates } from "../test/harness/certificates.ts";
import { eventually } from "../test/harness/eventually.ts";
import { startOwnPostgres, type TestPostgres } from "../test/harness/postgres.ts";
import { longTest } from "../test/harness/property-runs.ts";
import { startTcpProxy } from "../test/harness/tcp-proxy.ts";
import { openPrimary } from "./postgres.ts";

const TIMEOUT_MS = 10_000;

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
  const sql = openPrimary(url, { max: 1, connect_timeout: 5, onnotice: () => undefined });
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
    await using postgres = await startOwnPostgres();
    const ca = await demandTls(postgres);
    const parameters = (text: string, url = postgres.url) => `${url}?${text}`;
    await eventually(async () => {
      expect(isEncrypted(postgres.url)).rejects.toThrow();
      expect(await isEncrypted(parameters(`sslrootcert=${ca}`))).toBe(true);
    }, TIMEOUT_MS);
    expect(await isEncrypted(parameters(`sslmode=verify-full&sslrootcert=${ca}`))).toBe(true);
    expect(await isEncrypted(parameters("sslmode=require"))).toBe(true);

    const dir = mkdtempSync(join(tmpdir(), "shorthop-ca-"));
    const foreign = createCertificates(dir).ca;
    expect(isEncrypted(parameters(`sslrootcert=${foreign}`))).rejects.toThrow();
    expect(isEncrypted(parameters("sslmode=verify-full"))).rejects.toThrow();
    expect(isEncrypted(parameters("sslrootcert=/does/not/exist"))).rejects.toThrow("ENOENT");
    rmSync(dir, { recursive: true });

    // The certificate has other names than this address.
    const proxy = startTcpProxy(Number(new URL(postgres.url).port), "127.0.0.2");
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
