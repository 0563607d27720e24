/** Reads the monitoring endpoint of a NATS server on this host. */
import type * as z from "zod";

/** The address that deploy/nats/server.conf configures. */
export const MONITORING = "http://127.0.0.1:8222";

const TIMEOUT_MS = 2_000;

/** Undefined if no NATS server responds, or its response does not match the schema. */
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
