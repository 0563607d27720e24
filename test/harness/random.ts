/** Pseudorandom choices, reproducible by seed. */

export type Random = {
  /** An integer from `min` to `max`, inclusive. */
  between(min: number, max: number): number;
  pick<T>(choices: readonly [T, ...T[]]): T;
};

/** Mulberry32 (Tommy Ettinger, public domain): small, and uniform enough for this. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  return {
    between: (min, max) => min + Math.floor(next() * (max - min + 1)),
    pick: (choices) => choices[Math.floor(next() * choices.length)] ?? choices[0],
  };
}
