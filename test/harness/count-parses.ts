/** Counts how often queries are parsed: work, where a time would depend on the machine. */

/**
 * Returns the number of parameters of each query that is parsed while `run` runs, which must be
 * synchronous.
 */
export function countParses(run: () => unknown): number[] {
  const original = globalThis.URLSearchParams;
  const parsed: number[] = [];
  globalThis.URLSearchParams = class extends original {
    constructor(...args: ConstructorParameters<typeof original>) {
      super(...args);
      parsed.push(this.size);
    }
  };
  try {
    run();
  } finally {
    globalThis.URLSearchParams = original;
  }
  return parsed;
}
