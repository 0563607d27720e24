import { useEffect, useState } from "react";

/**
 * Pause in typing after which a search is sent: shorter than a hesitation, longer than the time
 * between two keys.
 */
export const DEBOUNCE_MS = 250;

/** Returns a value after it has stayed unchanged for {@link DEBOUNCE_MS}. */
export function useDebounced<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
