/** Shares reads between those who ask the same at the same time. */

type Reading<Value> = { current: Promise<Value>; next?: Promise<Value> };

/**
 * Returns a function that runs `read` for a key, at most once at a time. Whoever asks while a read is in flight shares
 * the next one with all others: nobody gets what was read before it asked. Throws what `read` throws.
 */
export function createCoalescedReads<Value>(): (
  key: string,
  read: () => Promise<Value>,
) => Promise<Value> {
  /** Those in flight. */
  const readings = new Map<string, Reading<Value>>();

  function start(key: string, read: () => Promise<Value>): Promise<Value> {
    const reading: Reading<Value> = { current: read() };
    readings.set(key, reading);
    const end = () => {
      if (reading.next === undefined) readings.delete(key);
    };
    reading.current.then(end, end);
    return reading.current;
  }

  return (key, read) => {
    const reading = readings.get(key);
    if (reading === undefined) return start(key, read);
    const startNext = () => start(key, read);
    return (reading.next ??= reading.current.then(startNext, startNext));
  };
}
