/**
 * `bun run test:chaos [--long] [--seed N] [--faults N] [--kind NAME …] [--without PROTECTION]`:
 * checks that stored clicks equal redirects under any fault. `--without` removes one of the
 * protections, and passes if then counts differ.
 */
import { parseArgs } from "node:util";

import { type Kind, KINDS } from "./kinds.ts";
import { runMutation } from "./mutations.ts";
import { type ChaosOptions, runChaos } from "./run.ts";
import { EXIT_UNEQUAL, UnequalError } from "./targets.ts";

type Size = Omit<ChaosOptions, "seed" | "kinds" | "log">;

const SHORT: Size = {
  faults: 60,
  pauseMs: 10_000,
  setBackMs: 10_000,
  redirectsMin: 0,
  redirectsMax: 400_000,
};
const LONG: Size = {
  faults: 200,
  pauseMs: 90_000,
  setBackMs: 120_000,
  redirectsMin: 4_000_000,
  redirectsMax: 4_500_000,
};

const isKind = (name: string): name is Kind => Object.hasOwn(KINDS, name);

const { values } = parseArgs({
  options: {
    long: { type: "boolean", default: false },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    faults: { type: "string" },
    kind: { type: "string", multiple: true },
    without: { type: "string" },
  },
});

if (values.without === undefined) {
  console.log(`--seed ${values.seed}`);
  const size = values.long ? LONG : SHORT;
  const unknown = values.kind?.find((name) => !isKind(name));
  if (unknown !== undefined) throw new Error(`There is no fault "${unknown}".`);
  try {
    await runChaos({
      ...size,
      faults: Number(values.faults ?? size.faults),
      kinds: values.kind?.filter(isKind),
      seed: Number(values.seed),
      log: console.log,
    });
  } catch (error) {
    console.error(error);
    process.exit(error instanceof UnequalError ? EXIT_UNEQUAL : 1);
  }
} else process.exit((await runMutation(values.without, values.seed)) ? 0 : 1);
