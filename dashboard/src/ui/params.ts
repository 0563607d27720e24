/** What a view shows, kept in the address, so that it can be shared and gone back to. */
import { useSearchParams } from "wouter";

type Change = Record<string, string | undefined>;

/** The parameters, and how to change some of them; what is undefined or empty is taken out. */
export function useParams(): [URLSearchParams, (change: Change) => void] {
  const [params, setParams] = useSearchParams();
  return [
    params,
    (change) =>
      setParams((before) => {
        const after = new URLSearchParams(before);
        for (const [name, value] of Object.entries(change)) {
          if (value === undefined || value === "") after.delete(name);
          else after.set(name, value);
        }
        return after;
      }),
  ];
}
