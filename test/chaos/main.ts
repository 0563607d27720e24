/**
 * `bun run test:chaos [--long] [--seed N] [--faults N] [--without PROTECTION]`: checks that stored clicks equal
 * redirects under any fault. `--without` removes one of the protections and expects the check to fail.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { copyWithout } from "./mutations.ts";
import { runChaos } from "./run.ts";

const SHORT = { faults: 60, pauseMs: 10_000, redirectsMax: 400_000 };
const LONG = { faults: 200, pauseMs: 90_000, redirectsMax: 4_000_000 };

const { values } = parseArgs({
  options: {
    long: { type: "boolean", default: false },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    faults: { type: "string" },
    without: { type: "string" },
  },
});

if (values.without === undefined) {
  console.log(`--seed ${values.seed}`);
  const size = values.long ? LONG : SHORT;
  const faults = Number(values.faults ?? size.faults);
  await runChaos({ ...size, faults, seed: Number(values.seed), log: console.log });
} else {
  const copy = copyWithout(join(import.meta.dir, "../.."), values.without);
  const args = ["--seed", values.seed, ...(values.long ? ["--long"] : [])];
  if (values.faults !== undefined) args.push("--faults", values.faults);
  const child = Bun.spawn([process.execPath, "test/chaos/main.ts", ...args], {
    cwd: copy,
    stdio: ["ignore", "inherit", "inherit"],
  });
  const code = await child.exited;
  rmSync(copy, { recursive: true });
  console.log(
    code === 0
      ? `Passed without ${values.without}: the test does not cover it.`
      : `Failed without ${values.without}, as expected.`,
  );
  process.exit(code === 0 ? 1 : 0);
}
