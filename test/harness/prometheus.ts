/** Reads what processes tell Prometheus, and checks names and rules by its conventions. */

import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { makeOnce } from "../../shared/process-lock.ts";

export type MetricFamily = {
  name: string;
  type: string;
  help: string;
  /** Names with labels, and values. */
  samples: Map<string, number>;
};

/** The families of a scrape, by name. */
export function parseMetrics(text: string): Map<string, MetricFamily> {
  const families = new Map<string, MetricFamily>();
  let current: MetricFamily | undefined;
  for (const line of text.split("\n")) {
    const [, keyword, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (keyword === "HELP") {
      current = { name, type: "untyped", help: rest, samples: new Map() };
      families.set(name, current);
    } else if (keyword === "TYPE" && current?.name === name) {
      current.type = rest;
    } else if (line !== "" && !line.startsWith("#")) {
      const space = line.lastIndexOf(" ");
      current?.samples.set(line.slice(0, space), Number(line.slice(space + 1)));
    }
  }
  return families;
}

const SUFFIXES = ["_bucket", "_sum", "_count"];

/** The type of a time series by its name: those of a histogram that only grow count as counters. */
export function seriesType(
  families: ReadonlyMap<string, MetricFamily>,
  name: string,
): string | undefined {
  const own = families.get(name)?.type;
  if (own !== undefined) return own;
  const suffix = SUFFIXES.find((one) => name.endsWith(one));
  const type = families.get(name.slice(0, name.length - (suffix?.length ?? 0)))?.type;
  return type === "histogram" || type === "summary" ? "counter" : undefined;
}

/**
 * Units that are not base units, and their abbreviations:
 * https://prometheus.io/docs/practices/naming
 */
const NOT_BASE_UNITS =
  /_(?:ns|us|ms|nanoseconds|microseconds|milliseconds|minutes|hours|days|bits|kb|kib|mb|mib|gb|gib|kilobytes|megabytes|gigabytes|percent)(?:_|$)/;

/** What of Prometheus' naming conventions a metric breaks. */
export function namingProblems({ name, type, help, samples }: MetricFamily): string[] {
  const problems: string[] = [];
  const expectThat = (holds: boolean, problem: string) =>
    void (holds || problems.push(`${name}: ${problem}`));
  expectThat(["counter", "gauge", "histogram", "summary"].includes(type), `is ${type}`);
  expectThat(help !== "", "has no help");
  expectThat((type === "counter") === name.endsWith("_total"), `is a ${type} by type, not by name`);
  expectThat(!/_(?:bucket|sum|count)$/.test(name), "has the suffix of a histogram's series");
  expectThat(!/_(?:counter|gauge|histogram|summary)(?:_|$)/.test(name), "has its type in its name");
  expectThat(!NOT_BASE_UNITS.test(name), "is not in a base unit");
  expectThat(!/_(?:seconds|bytes)_(?!total$)/.test(name), "does not end in its unit");
  if (type === "histogram") expectThat(/_(?:seconds|bytes)$/.test(name), "has no unit");
  if (name.endsWith("_info"))
    expectThat(
      [...samples.values()].every((value) => value === 1),
      "is not 1",
    );
  if (type === "counter")
    expectThat(
      [...samples.values()].every((value) => value >= 0),
      "is below 0",
    );
  return problems;
}

/** Scrapes a process's Prometheus metrics: values by name and labels. */
export async function scrape(metricsUrl: string, withinMs = 60_000): Promise<Map<string, number>> {
  const signal = AbortSignal.timeout(withinMs);
  const text = await (await fetch(`${metricsUrl}/metrics`, { signal })).text();
  return new Map([...parseMetrics(text).values()].flatMap(({ samples }) => [...samples]));
}

/** One value of a process's metrics; NaN without it. */
export const readMetric = async (metricsUrl: string, name: string): Promise<number> =>
  (await scrape(metricsUrl)).get(name) ?? Number.NaN;

const FOLDER = join(import.meta.dir, "../../.local/prometheus");

/**
 * The path of Prometheus' own checker of rules, `promtool`: one that is installed, or Debian's,
 * which is only unpacked. If it cannot be had here, prints a warning and returns undefined.
 */
export async function findPromtool(): Promise<string | undefined> {
  const installed = Bun.which("promtool");
  if (installed !== null) return installed;
  try {
    await makeOnce(FOLDER, unpack);
    return join(FOLDER, "usr/bin/promtool");
  } catch (error) {
    console.log("!!! There is no promtool: tests of the alerts are SKIPPED", error);
    return undefined;
  }
}

/** Downloads and unpacks the Debian package. Throws where it cannot be had. */
function unpack(dir: string): void {
  mkdirSync(dir);
  const run = (...command: string[]): boolean =>
    Bun.which(command[0] ?? "") !== null && Bun.spawnSync(command, { cwd: dir }).success;
  const download = () => run("apt-get", "download", "prometheus");
  // A fresh machine has no list of packages yet.
  if (!download() && !(run("apt-get", "update") && download()))
    throw new Error("apt-get cannot download Debian's package prometheus.");
  for (const file of readdirSync(dir).filter((one) => one.endsWith(".deb")))
    if (!run("dpkg", "--extract", file, ".")) throw new Error(`${file} cannot be unpacked.`);
}
