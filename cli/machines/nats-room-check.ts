/** Checks whether a NATS server on this host has space for the maximum size of its streams. */
import * as z from "zod";

import { readFreeBytes } from "../../shared/disk.ts";
import type { Check, Problem } from "../../shared/preflight.ts";
import { MONITORING, readMonitoring } from "./nats-monitoring.ts";

/** The used share of its space at which a server counts as nearly full. */
const FULL = 0.9;

const MIB = 1024 ** 2;

/**
 * The fields of `/jsz` that are used: bytes stored, bytes reserved by streams with a maximum, and
 * bytes the server may use in total.
 */
const jsz = z.object({
  config: z.object({ max_storage: z.number(), store_dir: z.string() }),
  storage: z.number(),
  reserved_storage: z.number(),
});

type JetStream = z.output<typeof jsz>;

/**
 * A full disk or NATS store stops link changes. Clicks then wait in the journals until those are
 * full too.
 */
export const checkNatsRoom = (monitoring = MONITORING, freeOf = readFreeBytes): Check => ({
  name: "room of NATS",
  mend: "Make its directory readable, or run this as root on the host of NATS.",
  async run() {
    const found = await readMonitoring(monitoring, "/jsz", jsz);
    return found && roomProblems(found, freeOf(found.config.store_dir));
  },
});

/** `free` is the free disk space in bytes. */
export function roomProblems(
  { config, storage, reserved_storage: reserved }: JetStream,
  free: number,
): Problem[] {
  const problems: Problem[] = [];
  const growth = Math.max(0, reserved - storage);
  if (storage >= FULL * config.max_storage)
    problems.push({
      status: "failed",
      detail: `its streams take ${Math.floor((100 * storage) / config.max_storage)} % of max_file_store`,
      mend: "Raise max_file_store in the server's configuration, and reload it (docs/operations.md#capacity).",
    });
  if (free < growth || free < (1 - FULL) * storage)
    problems.push({
      status: "warning",
      detail: `the disk of ${config.store_dir} has ${Math.floor(free / MIB)} MiB left, and its streams may grow by ${Math.ceil(growth / MIB)} MiB`,
      mend: "Make room (df -h) or enlarge the disk; or lower --max-bytes of CLICKS, never below what it holds (docs/operations.md#capacity).",
    });
  return problems;
}
