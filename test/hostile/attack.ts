/** Sends inputs concurrently, at a rate that leaves the stack some capacity. */
import type { Stack } from "../harness/stack.ts";
import type { Input } from "./inputs.ts";

/** Quick inputs in flight. */
const IN_FLIGHT = 64;

/**
 * Inputs in flight beyond those that are slow or may never get a response: they cost next to
 * nothing.
 */
const SLOW_IN_FLIGHT_MAX = 256;

const isQuick = ({ complete, delivery }: Input): boolean =>
  complete && (delivery.kind === "whole" || delivery.kind === "split");

export type AttackOptions = {
  seconds: number;
  /**
   * Maximum inputs per second: the measurement is about the service, not about a machine without a
   * free core.
   */
  rate: number;
  /** Ends the attack early; the report covers what happened until then. */
  signal?: AbortSignal;
  log: (line: string) => void;
};

export async function attackForDuration(
  { seconds, rate, signal, log }: AttackOptions,
  stack: Stack,
  generate: (index: number) => Input,
  attack: (input: Input) => Promise<void>,
): Promise<void> {
  const started = performance.now();
  const elapsed = (): number => (performance.now() - started) / 1_000;
  const slow = new Set<Promise<void>>();
  let next = 0;
  let loggedAt = 0;

  const shouldContinue = (): boolean =>
    elapsed() < seconds && signal?.aborted !== true && stack.supervisor.exitCode === null;

  async function lane(): Promise<void> {
    while (shouldContinue()) {
      const index = next++;
      const early = index / rate - elapsed();
      if (early > 0) await Bun.sleep(early * 1_000);
      const input = generate(index);
      if (isQuick(input)) {
        await attack(input);
      } else {
        if (slow.size >= SLOW_IN_FLIGHT_MAX) await Promise.race(slow);
        const sending = attack(input).finally(() => slow.delete(sending));
        slow.add(sending);
      }
      if (elapsed() - loggedAt > 30) {
        loggedAt = elapsed();
        log(`${Math.round(loggedAt)} s: ${next} inputs`);
      }
    }
  }

  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
  await Promise.all(slow);
  if (stack.supervisor.exitCode !== null)
    log(`The stack stopped by itself:\n${stack.output().slice(-5_000)}`);
}
