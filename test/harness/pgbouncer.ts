/** PgBouncer in transaction mode: one that is installed, or Debian's, which is only unpacked. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { startWatchdog, type Watchdog } from "../../deploy/local/watchdog.ts";
import { unpackPackages } from "./debian-package.ts";
import { eventually } from "./eventually.ts";
import { freePort } from "./ports.ts";

const START_TIMEOUT_MS = 10_000;

/** The program and the libraries that a machine may lack. */
const PACKAGES = ["pgbouncer", "libevent-2.1-7", "libc-ares2"];

/** Fewer than an API process opens to it, so that connections of the server are shared. */
const SERVER_CONNECTIONS = 8;

/** More than all processes of a stack have. */
const CLIENTS_MAX = 1_000;

type Program = { path: string; env: Record<string, string> };

export type Pooler = {
  /** A URL of the server, through the pooler. */
  pooled(url: string): string;
  [Symbol.asyncDispose](): Promise<void>;
};

/** Ends the pooler if the test runner is killed. */
let watchdog: Watchdog | undefined;

/** Returns undefined, with a warning, where PgBouncer cannot be had. */
export async function findPgbouncer(): Promise<Program | undefined> {
  const installed = Bun.which("pgbouncer");
  if (installed !== null) return { path: installed, env: {} };
  try {
    const folder = await unpackPackages("pgbouncer", PACKAGES);
    const [libraries = ""] = new Bun.Glob("usr/lib/*/").scanSync({ cwd: folder, onlyFiles: false });
    return {
      path: join(folder, "usr/sbin/pgbouncer"),
      env: { LD_LIBRARY_PATH: join(folder, libraries) },
    };
  } catch (error) {
    console.warn("\n!!! There is no PgBouncer: connections through it are NOT TESTED\n", error);
    return undefined;
  }
}

/**
 * Starts PgBouncer in front of the server of a URL, whose user is the only one that it lets in.
 */
export async function startPgbouncer(program: Program, url: string): Promise<Pooler> {
  const { hostname, port, username, password } = new URL(url);
  const dir = mkdtempSync(join(tmpdir(), "shorthop-pgbouncer-"));
  // As root, it runs as another user.
  chmodSync(dir, 0o755);
  const listenPort = freePort();
  const users = join(dir, "users");
  writeFileSync(users, `"${username}" "${decodeURIComponent(password)}"\n`);
  const config = join(dir, "pgbouncer.ini");
  const settings = [
    "[databases]",
    `* = host=${hostname} port=${port}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${listenPort}`,
    "unix_socket_dir =",
    "auth_type = scram-sha-256",
    `auth_file = ${users}`,
    "pool_mode = transaction",
    `default_pool_size = ${SERVER_CONNECTIONS}`,
    `max_client_conn = ${CLIENTS_MAX}`,
  ];
  writeFileSync(config, `${settings.join("\n")}\n`);
  const user = process.getuid?.() === 0 ? ["--user", "nobody"] : [];
  const child = Bun.spawn([program.path, "--quiet", ...user, config], {
    env: { ...process.env, ...program.env },
    stdio: ["ignore", "ignore", Bun.file(join(dir, "log"))],
  });
  watchdog ??= startWatchdog();
  watchdog.watch("pgbouncer", child.pid);
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(await Bun.file(join(dir, "log")).text());
    (await Bun.connect({ hostname: "127.0.0.1", port: listenPort, socket: { data() {} } })).end();
  }, START_TIMEOUT_MS);
  return {
    pooled(direct) {
      const own = new URL(direct);
      own.port = String(listenPort);
      own.searchParams.set("pgbouncer", "true");
      return own.href;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.exited;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
