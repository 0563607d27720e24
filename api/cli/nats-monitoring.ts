/** Reads the monitoring of a NATS server on this host. */
import type * as z from "zod";

/** Where deploy/nats/server.conf has it listen. */
export const MONITORING = "http://127.0.0.1:8222";

const TIMEOUT_MS = 2_000;

/** Undefined where no NATS server answers, or it says something else. */
export async function readMonitoring<Schema extends z.ZodType>(
  monitoring: string,
  path: string,
  schema: Schema,
): Promise<z.output<Schema> | undefined> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(`${monitoring}${path}`, { signal });
    return schema.safeParse(await response.json()).data;
  } catch {
    return undefined;
  }
}
