/** Reads Prometheus' text format, and checks names by its conventions. */

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
