/**
 * Queries what several pages read of an account: its tags, its domains, its keys and its members.
 */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import type { Client, Tag } from "../../../clients/typescript/src/index.ts";
import { readableHost } from "../../../shared/contracts/host-names.ts";
import type { MemberList } from "../../../shared/contracts/user-responses.ts";
import { getJson } from "./http.ts";
import { useAccountContext, useApiQuery } from "./session.ts";

/** Maximum tags that the pages know, those with the most links; the page of tags has all. */
const KNOWN_TAGS_MAX = 300;

/** How old colours and completions may be: the API adds up clicks to list tags, which is costly. */
const STALE_MS = 60_000;

const NO_TAGS: readonly Tag[] = [];

/** Returns the known tags, those with the most links first; none while they are loading. */
export function useTags(): readonly Tag[] {
  const { data } = useApiQuery(["tags", "known"], readTags, { staleTime: STALE_MS });
  return data ?? NO_TAGS;
}

async function readTags(client: Client, signal: AbortSignal): Promise<Tag[]> {
  const known: Tag[] = [];
  for await (const tag of client.tags.all({ sort: "links" }, { signal })) {
    known.push(tag);
    if (known.length === KNOWN_TAGS_MAX) break;
  }
  return known;
}

/** The classes of an element that shows a tag. */
export const tagClass = (color: Tag["color"] | undefined): string =>
  color === null || color === undefined ? "tag" : `tag tag-${color}`;

/** Names the classes of an element that shows a tag. */
export type TagClass = (name: string) => string;

/** Returns a function that knows the tags' colours; the same one until they change. */
export function useTagClass(): TagClass {
  const tags = useTags();
  return useMemo(() => {
    const colors = new Map(tags.map(({ name, color }) => [name, color]));
    return (name) => tagClass(colors.get(name));
  }, [tags]);
}

/** Queries the domains of the account and mode. */
export const useDomainsQuery = () =>
  useApiQuery(["domains"], (client) => Array.fromAsync(client.domains.all()));

/** Returns the domains of the account and mode; none until they are loaded. */
export const useDomains = () => useDomainsQuery().data ?? [];

/** The domains that a link can be on, as options: the service's own has the value "". */
export function useDomainOptions(): { value: string; label: string }[] {
  const { session } = useAccountContext();
  const verified = useDomains().filter(({ status }) => status === "verified");
  return [
    { value: "", label: new URL(session.short_url).host },
    ...verified.map(({ domain }) => ({ value: domain, label: readableHost(domain) })),
  ];
}

/** Queries the API keys of the account and mode, which only owners see. */
export const useKeysQuery = () =>
  useApiQuery(["keys"], (client) => Array.fromAsync(client.keys.all()), {
    enabled: useAccountContext().account.role === "owner",
  });

/** Queries the members of the account, and its invitations. */
export function useMembersQuery() {
  const { account } = useAccountContext();
  return useQuery({
    queryKey: ["members", account.id],
    queryFn: () => getJson<MemberList>(`/api/${account.id}/members`),
  });
}

type NamedActor = { type: "api_key" | "user"; id: string; name: string };

/** Returns who acts in the account, members and keys; none until they are loaded. */
export function useActors(): NamedActor[] {
  const keys = useKeysQuery();
  const members = useMembersQuery();
  return [
    ...(members.data?.members ?? []).map(({ user_id: id, name }) => ({
      type: "user" as const,
      id,
      name,
    })),
    ...(keys.data ?? []).map(({ id, name }) => ({ type: "api_key" as const, id, name })),
  ];
}
