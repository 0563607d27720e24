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

/** One of a list that is not empty. */
export function pickOf<T>(random: Random, list: readonly T[]): T {
  const item = list[random.between(0, list.length - 1)];
  if (item === undefined) throw new Error("There is nothing to choose from.");
  return item;
}

/** The items of a list in another order. */
export function shuffle<T>(random: Random, list: readonly T[]): T[] {
  const remaining = [...list];
  return list.flatMap(() => remaining.splice(random.between(0, remaining.length - 1), 1));
}
