/**
 * The CPU time of the stores: what a call costs PostgreSQL and ClickHouse, in all their processes
 * and threads (Linux).
 */
import { readdirSync, readFileSync } from "node:fs";

export const STORES = ["postgres", "clickhouse"] as const;

export type Store = (typeof STORES)[number];

/**
 * How long the threads of a process and of its children have had a CPU, in milliseconds. What has
 * ended meanwhile is left out: connections to PostgreSQL are kept for longer than a call takes.
 */
export function readTreeMs(pid: number): number {
  return sum(
    list(`/proc/${pid}/task`).map((thread) => {
      const task = `/proc/${pid}/task/${thread}`;
      const [cpuNs = 0] = read(`${task}/schedstat`).split(" ").map(Number);
      const children = read(`${task}/children`).split(" ").filter(Boolean);
      return cpuNs / 1e6 + sum(children.map((child) => readTreeMs(Number(child))));
    }),
  );
}

const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);

/** What a thread that has ended had to say: nothing. */
function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
