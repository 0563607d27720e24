/** The proof of an erasure: what there was, what is left, and what could not be reached. */
import type { JSONValue } from "postgres";

/** What an erasure does not reach, and how long that lasts at most. */
export type Left = { what: string; until: string };

/** Counts before and after, by the name of what was counted. */
export class Proof {
  readonly begunAt = new Date();
  readonly left: Left[] = [];
  readonly #counts = new Map<string, { before: number; after?: number }>();

  /** Notes what was counted. */
  set(when: "before" | "after", counts: Readonly<Record<string, number>>): void {
    for (const [name, count] of Object.entries(counts))
      this.#counts.set(name, { before: 0, ...this.#counts.get(name), [when]: count });
  }

  /** The names of what is not gone. */
  get remaining(): string[] {
    return [...this.#counts].flatMap(([name, { after }]) => (after === 0 ? [] : [name]));
  }

  toJson() {
    return {
      begun_at: this.begunAt.toISOString(),
      counts: Object.fromEntries(
        [...this.#counts].map(([name, { before, after }]) => [name, [before, after ?? null]]),
      ),
      left: this.left,
    } satisfies JSONValue;
  }
}
