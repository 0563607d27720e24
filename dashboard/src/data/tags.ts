/** The account's tags, for their colours and for fields that complete them. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import type { Tag } from "../../../clients/typescript/src/index.ts";
import { getClient } from "./http.ts";
import { useAccountContext } from "./session.ts";

/** Maximum tags that the pages know, those with the most links; the page of tags has all. */
const KNOWN_TAGS_MAX = 300;

/** Colours and completions may be as old: to add up clicks costs the API more than the rest. */
const STALE_MS = 60_000;

const NO_TAGS: readonly Tag[] = [];

/** Returns the known tags, those with the most links first; none while they are loading. */
export function useTags(): readonly Tag[] {
  const { scope } = useAccountContext();
  const { data } = useQuery({
    queryKey: ["tags", scope, "known"],
    staleTime: STALE_MS,
    queryFn: async ({ signal }) => {
      const known: Tag[] = [];
      for await (const tag of getClient(scope).tags.all({ sort: "links" }, { signal })) {
        known.push(tag);
        if (known.length === KNOWN_TAGS_MAX) break;
      }
      return known;
    },
  });
  return data ?? NO_TAGS;
}

/** The classes of an element that shows a tag. */
export const tagClass = (color: Tag["color"] | undefined): string =>
  color === null || color === undefined ? "tag" : `tag tag-${color}`;

/** Names the classes of an element that shows a tag. */
export type TagClass = (name: string) => string;

/** Returns the function that knows the tags' colours; the same until they change. */
export function useTagClass(): TagClass {
  const tags = useTags();
  return useMemo(() => {
    const colors = new Map(tags.map(({ name, color }) => [name, color]));
    return (name) => tagClass(colors.get(name));
  }, [tags]);
}
