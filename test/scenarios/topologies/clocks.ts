/**
 * Clocks that are wrong: libfaketime, which the test sets up in front of the programs of a stack.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Debian's package `faketime`, on either kind of machine. */
const LIBRARIES = ["x86_64-linux-gnu", "aarch64-linux-gnu"].map(
  (machine) => `/usr/lib/${machine}/faketime/libfaketimeMT.so.1`,
);

/** How soon programs notice that the file with their time has changed. */
const CACHE_SECONDS = "1";

const findLibrary = (): string | undefined => LIBRARIES.find((path) => existsSync(path));

/**
 * Whether clocks can be set here; installs the library where `apt-get` may, and says so where
 * clocks stay right.
 */
export function canSetClocks(): boolean {
  if (findLibrary() === undefined)
    Bun.spawnSync(["apt-get", "install", "--yes", "--quiet", "faketime"], { stdout: "ignore" });
  const isThere = findLibrary() !== undefined;
  if (!isThere)
    console.warn(
      "\n!!! The Debian package faketime is not installed: wrong clocks are NOT TESTED\n",
    );
  return isThere;
}

/**
 * Programs that have a clock each. NATS and the engine of ClickHouse ask the kernel themselves,
 * where nothing can be put in between.
 */
export const CLOCKED = ["postgres", "api", "redirector", "worker"] as const;

export type Clocked = (typeof CLOCKED)[number];

/**
 * The programs whose clocks a drill sets, and the one on whose host `doctor` runs, if it is one of
 * these.
 */
export type Clocks = { programs: readonly Clocked[]; doctor?: Clocked };

/** The file with the time of a program. */
export const clockPath = (dir: string, program: string): string => join(dir, `clock-${program}`);

/**
 * The environment of a program with a clock of its own. Programs crash that are told to have none.
 */
export function clockEnvironment(dir: string, program: Clocked): Record<string, string> {
  const library = findLibrary();
  if (library === undefined) return {};
  return {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: clockPath(dir, program),
    FAKETIME_CACHE_DURATION: CACHE_SECONDS,
    // Timers measure intervals, which a clock that is set does not change.
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
  };
}

/** Sets clocks so many seconds ahead, or behind. */
export function setClocks(dir: string, programs: readonly Clocked[], seconds: number): void {
  const time = `${seconds < 0 ? "-" : "+"}${Math.abs(seconds)}\n`;
  for (const program of programs) writeFileSync(clockPath(dir, program), time, { mode: 0o644 });
}
