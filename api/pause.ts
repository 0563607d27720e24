/** The pause between two rounds of a background job. A stop, or an event, ends it early. */
export function createPause(ms: number) {
  let end: (() => void) | undefined;
  return {
    /** Starts the pause; resolves at its end. */
    start(): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, ms);
      end = () => {
        clearTimeout(timer);
        resolve();
      };
      return promise;
    },
    /** Ends the pause that was started last. */
    end: (): void => end?.(),
  };
}
