/** Who acts in the account: its members, and for owners its API keys. */
import { useQuery } from "@tanstack/react-query";

import { getClient, getJson } from "./http.ts";
import { useAccountContext } from "./session.ts";

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
