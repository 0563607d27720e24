/** Data that are rendered in a deferred rendering, which yields to keys and clicks. */
import { useDeferredValue } from "react";

type Fetched<Data> = {
  data: Data | undefined;
  /** Whether the data answer an earlier question: `placeholderData` of the query. */
  isPlaceholderData: boolean;
};

/**
 * Defers the data of a query. They are outdated while they answer another question than `question`,
 * which names all that the query depends on; not when its answer has been read again.
 */
export function useDeferredData<Data>(
  { data, isPlaceholderData }: Fetched<Data>,
  question: string,
): { data: Data | undefined; isOutdated: boolean } {
  return {
    data: useDeferredValue(data),
    isOutdated: useDeferredValue(isPlaceholderData ? undefined : question) !== question,
  };
}
