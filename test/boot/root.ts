/**
 * The file system of a machine of Debian or Ubuntu, as `debootstrap` makes it: built once, copied
 * for each run.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { run } from "../../deploy/packages/run.ts";
import { makeOnce } from "../../shared/process-lock.ts";
import { PROJECT_DIR } from "../harness/stack.ts";

const DEBIAN = "http://deb.debian.org/debian";

/** What `debootstrap` needs to know about a release. */
type Release = { mirror: string; components: string; script?: string };

const RELEASES: Record<string, Release> = {
  // Debian 13 and 12.
  trixie: { mirror: DEBIAN, components: "main" },
  bookworm: { mirror: DEBIAN, components: "main" },
  // Ubuntu 24.04, which a `debootstrap` of Debian does not know by its name.
  noble: {
    mirror: "http://archive.ubuntu.com/ubuntu",
    components: "main,universe",
    script: "/usr/share/debootstrap/scripts/gutsy",
  },
};

const RELEASE = process.env["SHORTHOP_BOOT_RELEASE"] ?? "trixie";

/** What a fresh virtual machine has, and what the test itself needs. */
const BASE = [
  "systemd",
  "systemd-sysv",
  "dbus",
  "ca-certificates",
  "procps",
  "iproute2",
  "curl",
  "tzdata",
];

/**
 * Downloaded, but not installed: the document's commands install them, on a machine without a
 * network.
 */
const DOWNLOADED = ["postgresql", "nats-server", "openssl", "pgbouncer"];

const cacheDir = (): string =>
  process.env["SHORTHOP_BOOT_CACHE"] ?? join(PROJECT_DIR, ".local", "boot");

/** Copies the machine's file system to `dir`; builds it first if it is not in the cache. */
export async function createRoot(dir: string): Promise<void> {
  const cached = join(cacheDir(), RELEASE);
  await makeOnce(cached, buildRoot);
  run(["cp", "--archive", "--reflink=auto", cached, dir], "/");
  // Installers of the distributions write it; `debootstrap` does not.
  writeFileSync(join(dir, "etc/hosts"), "127.0.0.1 localhost\n::1 localhost\n");
  // Nothing of it is kept when the power fails.
  writeFileSync(join(dir, "etc/dpkg/dpkg.cfg.d/unsafe-io"), "force-unsafe-io\n");
}

function buildRoot(path: string): void {
  const release = RELEASES[RELEASE];
  if (release === undefined) throw new Error(`SHORTHOP_BOOT_RELEASE: there is no ${RELEASE}.`);
  const { mirror, components, script } = release;
  mkdirSync(path);
  console.log(`Building ${RELEASE} in ${path}…`);
  const options = [
    "--variant=minbase",
    `--components=${components}`,
    `--include=${BASE.join(",")}`,
  ];
  const source = process.env["SHORTHOP_BOOT_MIRROR"] ?? mirror;
  const scripts = script === undefined ? [] : [script];
  run(["debootstrap", ...options, RELEASE, path, source, ...scripts], "/");
  const chroot = (...command: string[]) => run(["chroot", path, ...command], "/");
  // Services must not start in the chroot, and each machine gets an identity of its own.
  chroot("apt-get", "update");
  chroot("apt-get", "install", "--yes", "--download-only", ...DOWNLOADED);
  writeFileSync(join(path, "etc/machine-id"), "");
  writeFileSync(join(path, "etc/resolv.conf"), "");
}
