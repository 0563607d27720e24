import { startDns } from "../../harness/dns.ts";
/** Runs the cost guard on a new stack and reports what it found. */
import { atMost, publish } from "../../harness/report.ts";
import { startStack } from "../../harness/stack.ts";
import type { Surface } from "../routes.ts";
import { guardCosts } from "./guard.ts";
import { countAccepted, formatRow, listUnmeasured, listWorst } from "./table.ts";

/**
 * Sends all pairs of parts, prints the table of routes with their worst turn, and writes
 * `bench/results/hostile-cost.json`. Returns the number of inputs that exceed their budget or cost
 * more than in proportion to their size, and of routes that were not measured.
 */
export async function reportCosts(surfaces?: readonly Surface[]): Promise<number> {
  await using dns = await startDns();
  await using stack = await startStack({ env: { DNS_SERVERS: dns.address } });
  const options = { pairwise: true, slowdown: 1, surfaces, log: console.log };
  const rows = await guardCosts(stack, options);
  const worst = listWorst(rows);
  const faults = rows.filter(({ fault }) => fault !== undefined);
  console.log("Routes that rejected all inputs:");
  console.table(countAccepted(rows).filter(({ accepted }) => accepted === 0));
  console.log("Inputs above their budget:");
  console.table(faults.map(formatRow));
  const count = faults.length;
  const unmeasured = listUnmeasured(rows);
  console.log("Routes that a limit kept from being measured:", unmeasured);
  publish({
    name: "hostile-cost",
    versions: { bun: Bun.version },
    rows: worst,
    targets: [
      atMost("inputs above budget", count, 0),
      atMost("routes that a limit kept from being measured", unmeasured.length, 0),
    ],
  });
  return count + unmeasured.length;
}
