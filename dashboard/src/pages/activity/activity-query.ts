/** Queries of the page of activity: events newest first, and the names of who caused them. */
import { useInfiniteQuery } from "@tanstack/react-query";

import type { LedgerEvent, ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { useActors } from "../../data/actors.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { SHOWN_TYPES, type ShownType } from "./type-names.ts";

/** Events of a request. */
const PAGE_EVENTS = 50;

/** Requests until one finds an event: each examines some thousands. */
const REQUESTS_MAX = 10;

type EventList = ResponseBody<"listEvents">;

export type ActivityFilter = { type: ShownType | undefined; linkId: string | undefined };

/** Queries the events that match, newest first, page by page. */
export function useActivity({ type, linkId }: ActivityFilter, enabled: boolean) {
  const { scope } = useAccountContext();
  return useInfiniteQuery({
    queryKey: ["events", scope, type, linkId],
    enabled,
    // What somebody has just done on another page is among them.
    staleTime: 0,
    initialPageParam: "",
    queryFn: async ({ pageParam, signal }): Promise<EventList> => {
      const query = {
        order: "desc",
        limit: PAGE_EVENTS,
        type: type === undefined ? SHOWN_TYPES : [type],
        ...(linkId === undefined ? {} : { link_id: linkId }),
      } as const;
      let after = pageParam;
      for (let requests = 1; ; requests++) {
        const position = after === "" ? {} : { starting_after: after };
        const page = await getClient(scope).events.list({ ...query, ...position }, { signal });
        if (page.data.length > 0 || !page.has_more || requests === REQUESTS_MAX) return page;
        after = page.next_cursor;
      }
    },
    getNextPageParam: ({ has_more, next_cursor }) => (has_more ? next_cursor : undefined),
  });
}

/** Returns a function that names who caused an event; an id until the names are there. */
export function useActorNames(): (actor: LedgerEvent["actor"]) => string {
  const actors = useActors();
  return ({ type, id = "" }) => {
    const name = actors.find((actor) => actor.id === id)?.name ?? id;
    switch (type) {
      case "api_key":
        return t("activity.actors.key", { name });
      case "user":
        return name;
      case "operator":
        return t("activity.actors.operator");
      case "system":
        return t("activity.actors.system");
      default:
        return type;
    }
  };
}
