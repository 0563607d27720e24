/** View state in the URL's query, so that a view can be shared and restored by going back. */
import { useSearchParams } from "wouter";

type Update = Record<string, string | undefined>;

/** Returns the query parameters and a function that updates some of them; undefined or "" removes one. */
export function useSearchState(): [URLSearchParams, (update: Update) => void] {
  const [params, setParams] = useSearchParams();
  return [
    params,
    (update) =>
      setParams((before) => {
        const after = new URLSearchParams(before);
        for (const [name, value] of Object.entries(update)) {
          if (value === undefined || value === "") after.delete(name);
          else after.set(name, value);
        }
        return after;
      }),
  ];
}
