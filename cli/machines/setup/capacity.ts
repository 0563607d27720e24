/** What a host can carry, said before setup begins; the figures are those of docs/capacity.md. */
import { cpus, totalmem } from "node:os";

const GIB = 1024 ** 3;

/** Of a million links: PostgreSQL, NATS and the links store of the host. */
const DISK_PER_MILLION = 1.8 * GIB;

/** NATS keeps an index of all links in memory; PostgreSQL and the processes need the rest. */
const MEMORY_PER_MILLION = 0.13 * GIB;
const MEMORY_OF_THE_REST = 1 * GIB;

/** Links never need more than half of the disk: clicks are on it too. */
const DISK_SHARE = 0.5;

/** Less than this is enough to try Shorthop, and not for visitors. */
const MEMORY_MIN = 1 * GIB;

export type Machine = { processors: number; memory: number; free: number };

export const readMachine = (free: number): Machine => ({
  processors: cpus().length,
  memory: totalmem(),
  free,
});

/** One or two lines about the machine of the stores. */
export function describeCapacity({ processors, memory, free }: Machine): string[] {
  const millions = Math.min(
    (DISK_SHARE * free) / DISK_PER_MILLION,
    Math.max(0, memory - MEMORY_OF_THE_REST) / MEMORY_PER_MILLION,
  );
  const links = millions < 0.1 ? "less than 100,000" : `about ${round(millions)} million`;
  return [
    `This machine: ${processors} ${processors === 1 ? "CPU" : "CPUs"}, ${round(memory / GIB)} GiB of memory, ${round(free / GIB)} GiB free. ` +
      `It can carry ${links} links (docs/capacity.md).`,
    // Some of the memory of a machine is the kernel's.
    ...(memory < 0.9 * MEMORY_MIN
      ? ["It has less than 1 GiB of memory: enough to try Shorthop, not for visitors."]
      : []),
  ];
}

const round = (value: number): string =>
  value < 10 ? String(Math.round(value * 10) / 10) : Math.round(value).toLocaleString("en");
