/** A bounded cache of values that are computed from a key. */

/**
 * Returns `compute` with a cache of its results, of at least the last `entriesMax` keys and at most
 * twice as many. It has two generations: when the younger one is full, the older one is dropped.
 * That approximates LRU, and a hit costs one lookup in a `Map`. Further arguments must not change
 * the result for a key.
 */
export function cached<Key extends string | number, Value extends {}, Rest extends unknown[]>(
  entriesMax: number,
  compute: (key: Key, ...rest: Rest) => Value,
): (key: Key, ...rest: Rest) => Value {
  let young = new Map<Key, Value>();
  let old = new Map<Key, Value>();
  return (key, ...rest) => {
    const found = young.get(key);
    if (found !== undefined) return found;
    const value = old.get(key) ?? compute(key, ...rest);
    if (young.size >= entriesMax) [young, old] = [new Map(), young];
    young.set(key, value);
    return value;
  };
}
