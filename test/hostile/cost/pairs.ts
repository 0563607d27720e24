/**
 * Combines the levels of several factors. A fault that needs two inputs at their bounds together is
 * found by any set of combinations that contains every pair of levels; such a covering array grows
 * with the logarithm of the number of factors, all combinations grow exponentially with it. The
 * greedy construction is that of D. Cohen, S. Dalal, M. Fredman, G. Patton, "The AETG System: An
 * Approach to Testing Based on Combinatorial Design", IEEE TSE 23(7), 1997, without its random
 * restarts.
 */

/** The names of each factor's levels; the first one is the plain one. */
export type Factors = Readonly<Record<string, readonly string[]>>;

/** One level of each factor. */
export type Combination = Readonly<Record<string, string>>;

/**
 * Combinations in which each pair of levels of two factors occurs; of each level, when there is one
 * factor.
 */
export function coverPairs(factors: Factors): Combination[] {
  const names = Object.keys(factors);
  const missing = new Set(
    names.flatMap((a, i) =>
      (factors[a] ?? []).flatMap((level) =>
        i === 0 && names.length === 1
          ? [formatPair(a, level, a, level)]
          : names
              .slice(i + 1)
              .flatMap((b) => (factors[b] ?? []).map((other) => formatPair(a, level, b, other))),
      ),
    ),
  );
  const combinations: Combination[] = [];
  for (const first of missing) {
    if (!missing.has(first)) continue;
    const [a = "", x = "", b = "", y = ""] = first.split("\n");
    const chosen = new Map([
      [a, x],
      [b, y],
    ]);
    for (const name of names) if (!chosen.has(name)) chosen.set(name, pickLevel(name, chosen));
    for (const pair of listPairs(chosen)) missing.delete(pair);
    combinations.push(Object.fromEntries(names.map((name) => [name, chosen.get(name) ?? ""])));
  }
  return combinations;

  /** The level with which the most pairs are new. */
  function pickLevel(name: string, chosen: ReadonlyMap<string, string>): string {
    const gains = (factors[name] ?? []).map((level) => ({
      level,
      gain: listPairs(new Map([...chosen, [name, level]])).filter((pair) => missing.has(pair))
        .length,
    }));
    return gains.toSorted((one, other) => other.gain - one.gain)[0]?.level ?? "";
  }

  function listPairs(chosen: ReadonlyMap<string, string>): string[] {
    const known = names.filter((name) => chosen.has(name));
    if (known.length === 1) return known.map((a) => formatOf(a, a));
    return known.flatMap((a, i) => known.slice(i + 1).map((b) => formatOf(a, b)));
    function formatOf(a: string, b: string): string {
      return formatPair(a, chosen.get(a) ?? "", b, chosen.get(b) ?? "");
    }
  }
}

/** Few combinations in which each level occurs once: each-choice coverage, for a short run. */
export function coverLevels(factors: Factors): Combination[] {
  const count = Math.max(...Object.values(factors).map((levels) => levels.length));
  return Array.from({ length: count }, (_, i) =>
    Object.fromEntries(
      // Factors with fewer levels begin again.
      Object.entries(factors).map(([name, levels]) => [name, levels[i % levels.length] ?? ""]),
    ),
  );
}

const formatPair = (a: string, x: string, b: string, y: string): string => [a, x, b, y].join("\n");
