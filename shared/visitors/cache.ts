/** A bounded cache of what is derived from a key. */

/**
 * Returns `compute` with a cache of its results: of the last `entriesMax` different keys at least, of twice as many at
 * most. It has two generations: when the younger one is full, the older one is dropped. That approximates LRU, and a
 * hit costs one look-up in a `Map`. Further arguments may differ only where they do not change the result.
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
