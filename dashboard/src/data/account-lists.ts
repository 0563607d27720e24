/** What fields and chips of an account name: its tags, its domains, and who acts in it. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import type { Tag } from "../../../clients/typescript/src/index.ts";
import { readableHost } from "../../../shared/contracts/readable-host.ts";
import { getClient, getJson } from "./http.ts";
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

/** Queries the domains of the account; none until they are there. */
export function useDomains() {
  const { scope } = useAccountContext();
  const { data } = useQuery({
    queryKey: ["domains", scope],
    queryFn: () => Array.fromAsync(getClient(scope).domains.all()),
  });
  return data ?? [];
}

/** The domains that a link can be on, as options: the service's own has the value "". */
export function useDomainOptions(): { value: string; label: string }[] {
  const { session } = useAccountContext();
  const verified = useDomains().filter(({ status }) => status === "verified");
  return [
    { value: "", label: new URL(session.short_url).host },
    ...verified.map(({ domain }) => ({ value: domain, label: readableHost(domain) })),
  ];
}

/** Who acts in the account: its members, and for owners its API keys. */
type Members = { members: { user_id: string; name: string }[] };

type NamedActor = { type: "api_key" | "user"; id: string; name: string };

/** Queries members and keys; none until they are there. Only owners see keys. */
export function useActors(): NamedActor[] {
  const { scope, account } = useAccountContext();
  const keys = useQuery({
    queryKey: ["keys", scope],
    enabled: account.role === "owner",
    queryFn: () => Array.fromAsync(getClient(scope).keys.all()),
  });
  const members = useQuery({
    queryKey: ["members", account.id],
    queryFn: () => getJson<Members>(`/api/${account.id}/members`),
  });
  return [
    ...(members.data?.members ?? []).map(({ user_id: id, name }) => ({
      type: "user" as const,
      id,
      name,
    })),
    ...(keys.data ?? []).map(({ id, name }) => ({ type: "api_key" as const, id, name })),
  ];
}
