import { useCallback, useLayoutEffect, useRef } from "react";

/**
 * Returns a function that stays the same and calls the latest `handler`: a handler of events that
 * does not render memoised components again.
 */
export function useStable<Args extends unknown[], Result>(
  handler: (...args: Args) => Result,
): (...args: Args) => Result {
  const latest = useRef(handler);
  useLayoutEffect(() => {
    latest.current = handler;
  });
  return useCallback((...args: Args) => latest.current(...args), []);
}
