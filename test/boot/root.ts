/**
 * The file system of a Debian machine, as `debootstrap` makes it: built once, copied for each run.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { run } from "../../deploy/packages/run.ts";
import { makeOnce } from "../../shared/make-once.ts";
import { PROJECT_DIR } from "../harness/stack.ts";

/** Debian 13; `bookworm` is Debian 12. */
const RELEASE = process.env["SHORTHOP_BOOT_RELEASE"] ?? "trixie";
const MIRROR = process.env["SHORTHOP_BOOT_MIRROR"] ?? "http://deb.debian.org/debian";

/** What a fresh virtual machine has, and what the test itself needs. */
const BASE = ["systemd", "systemd-sysv", "dbus", "ca-certificates", "procps", "iproute2", "curl"];

/**
 * Downloaded, but not installed: the document's commands install them, on a machine without a
 * network.
 */
const DOWNLOADED = ["postgresql", "nats-server", "openssl"];

const cacheDir = (): string =>
  process.env["SHORTHOP_BOOT_CACHE"] ?? join(PROJECT_DIR, ".local", "boot");

/** Copies the machine's file system to `dir`; builds it first if it is not in the cache. */
export async function createRoot(dir: string): Promise<void> {
  const cached = join(cacheDir(), RELEASE);
  await makeOnce(cached, buildRoot);
  run(["cp", "--archive", "--reflink=auto", cached, dir], "/");
}

function buildRoot(path: string): void {
  mkdirSync(path);
  console.log(`Building a Debian ${RELEASE} in ${path}…`);
  const include = `--include=${BASE.join(",")}`;
  run(["debootstrap", "--variant=minbase", include, RELEASE, path, MIRROR], "/");
  const chroot = (...command: string[]) => run(["chroot", path, ...command], "/");
  // Services must not start in the chroot, and each machine gets an identity of its own.
  chroot("apt-get", "update");
  chroot("apt-get", "install", "--yes", "--download-only", ...DOWNLOADED);
  writeFileSync(join(path, "etc/machine-id"), "");
  writeFileSync(join(path, "etc/resolv.conf"), "");
}
