/** A bounded cache of what is derived from a text. */

/**
 * Returns `compute` with a cache of its results: of the last `entriesMax` different texts at least, of twice as many at
 * most. It has two generations: when the younger one is full, the older one is dropped. That approximates LRU, and a
 * hit costs one look-up in a `Map`.
 */
export function cached<Value extends {}>(
  entriesMax: number,
  compute: (text: string) => Value,
): (text: string) => Value {
  let young = new Map<string, Value>();
  let old = new Map<string, Value>();
  return (text) => {
    const found = young.get(text);
    if (found !== undefined) return found;
    const value = old.get(text) ?? compute(text);
    if (young.size >= entriesMax) [young, old] = [new Map(), young];
    young.set(text, value);
    return value;
  };
}
