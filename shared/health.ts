/** The health of a process: what `/readyz` and `shorthop status` say of it. */

/** The state of each part: `ok`, or the reason why it is not ready. */
type Readiness = Record<string, string>;

/** How a process tells its health. */
export type HealthSource = {
  /** Returns the state of each part; the process is ready when all are `ok`. */
  readiness: () => Readiness | Promise<Readiness>;
  /** What an operator should know although the process is ready, by part; undefined when there is nothing. */
  warnings?: () => Record<string, string | undefined>;
};

export type Health = {
  status: "ready" | "not_ready";
  parts: Readiness;
  /** Those that are undefined are left out of JSON. */
  warnings: Record<string, string | undefined>;
};

export async function readHealth({ readiness, warnings }: HealthSource): Promise<Health> {
  const parts = await readiness();
  const ready = Object.values(parts).every((state) => state === "ok");
  return { status: ready ? "ready" : "not_ready", parts, warnings: warnings?.() ?? {} };
}
