/** The health of a process, as `/readyz` and `shorthop status` report it. */

/**
 * The parts whose health processes report; `shorthop doctor` has a remedy for each
 * (running-checks.ts).
 */
export type PartName =
  | "process"
  | "readiness"
  | "postgres"
  | "links_feed"
  | "links_log"
  | "links_snapshots"
  | "outbox"
  | "replicas"
  | "streams"
  | "clickhouse"
  | "links_store"
  | "disk"
  | "clicks"
  | "counters"
  | "geoip"
  | "click_limits"
  | "webhooks";

/** The state of each part: `ok`, or the reason why it is not ready. */
type Readiness = Partial<Record<PartName, string>>;

/** Warnings to the operator of a process that is ready; undefined without one. */
type Warnings = { [Part in PartName]?: string | undefined };

/** How a process reports its health. */
export type HealthSource = {
  /** Returns the state of each part; the process is ready when all are `ok`. */
  readiness: () => Readiness | Promise<Readiness>;
  warnings?: () => Warnings | Promise<Warnings>;
};

export type Health = {
  status: "ready" | "not_ready";
  parts: Readiness;
  /** JSON has no member for an undefined one. */
  warnings: Warnings;
};

export async function readHealth({ readiness, warnings }: HealthSource): Promise<Health> {
  const parts = await readiness();
  const ready = Object.values(parts).every((state) => state === "ok");
  return { status: ready ? "ready" : "not_ready", parts, warnings: (await warnings?.()) ?? {} };
}
