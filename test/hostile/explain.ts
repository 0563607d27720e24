/** Finds the inputs in flight that cause a stall on their own. */
import type { Stack } from "../harness/stack.ts";
import type { Input } from "./inputs.ts";
import { formatRoute, type Surface } from "./routes.ts";
import { findMetricsUrl, longestStallBetween, scrape, type Stall } from "./watch.ts";
import { sendInput } from "./wire.ts";

export type ExplainedStall = Stall & {
  /** The inputs that cause a stall on their own, with its length in milliseconds. */
  causes: string[];
};

/** Stalls to explain, and inputs to try for each. */
const EXPLAINED_MAX = 8;
const SUSPECTS_MAX = 200;

/** Minimum length of a stall on its own that is reported. */
const CAUSE_MS_MIN = 50;

/** Maximum delay between a stall and its detection. */
export const DETECTION_DELAY_MS = 1_500;

/** Time limit of the whole search; a single suspect may take seconds. */
const EXPLAIN_MS_MAX = 60_000;

/** Time until the event loop's next sample after a response. */
const SETTLE_MS = 30;

/** For the longest stalls: resends each input that was in flight on its own, and measures. */
export async function explainStalls(
  stalls: readonly Stall[],
  suspectsOf: ReadonlyMap<Stall, Input[]>,
  stack: Stack,
  ports: Record<Surface, number>,
): Promise<ExplainedStall[]> {
  const worst = stalls.toSorted((a, b) => b.ms - a.ms).slice(0, EXPLAINED_MAX);
  const deadline = performance.now() + EXPLAIN_MS_MAX;
  const causes = new Map<number, number>();
  const explained: ExplainedStall[] = [];
  for (const stall of worst) {
    const { process } = stall;
    const suspects = suspectsOf.get(stall)?.slice(0, SUSPECTS_MAX) ?? [];
    if (suspects.length === 0 || stack.supervisor.exitCode !== null) {
      explained.push({ ...stall, causes: [] });
      continue;
    }
    const url = findMetricsUrl(stack, process);
    for (const input of suspects) {
      if (causes.has(input.index) || performance.now() > deadline) continue;
      const before = await scrape(url);
      await sendInput(input, ports[input.route.surface]);
      await Bun.sleep(SETTLE_MS);
      const after = await scrape(url);
      const stallMs =
        before === undefined || after === undefined ? 0 : longestStallBetween(before, after);
      causes.set(input.index, stallMs);
    }
    const found = suspects
      .map((input) => ({ input, stallMs: causes.get(input.index) ?? 0 }))
      .filter(({ stallMs }) => stallMs >= CAUSE_MS_MIN)
      .toSorted((a, b) => b.stallMs - a.stallMs)
      .slice(0, 3)
      .map(
        ({ input, stallMs }) => `${Math.round(stallMs)} ms: ${input.index} ${describeInput(input)}`,
      );
    explained.push({ ...stall, causes: found });
  }
  return explained;
}

const SHOWN_BYTES = 200;

export const describeInput = (input: Input): string =>
  `${formatRoute(input.route)} × ${input.generator}, ${input.bytes.length} bytes: ${JSON.stringify(input.bytes.toString("latin1", 0, SHOWN_BYTES))}`;
