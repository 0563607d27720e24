/** Which events a webhook gets. */
import { ALL_EVENTS } from "../../shared/contracts/webhook-schemas.ts";
import type { Uuid } from "../../shared/ids.ts";

export type WebhookFilter = {
  events: readonly string[];
  link_ids: readonly Uuid[] | null;
  tags: readonly string[] | null;
  domains: readonly string[] | null;
};

/** What decides whether an event is for a webhook. */
export type FilteredEvent = {
  type: string;
  /** Null for an event that is not about a link. */
  link_id: Uuid | null;
  /** The links of `clicks.recorded`; null for other events. */
  clicked_link_ids: readonly Uuid[] | null;
};

/** A link with its tags and the hosts at which it is served. */
export type FilteredLink = { tags: readonly string[]; hosts: readonly string[] };

/** Only the webhook that is tested gets it, and not by its filter. */
const TEST_EVENT = "webhook.test";

/** Whether a webhook wants only some links. */
export const selectsLinks = ({ link_ids, tags, domains }: WebhookFilter): boolean =>
  link_ids !== null || tags !== null || domains !== null;

/**
 * Returns `all` for an event that the webhook gets whole, the links whose clicks it gets, and
 * undefined for an event that is not for it. `links` has those that still exist.
 */
export function match(
  filter: WebhookFilter,
  event: FilteredEvent,
  links: ReadonlyMap<Uuid, FilteredLink>,
): "all" | Uuid[] | undefined {
  if (event.type === TEST_EVENT) return undefined;
  if (!filter.events.includes(ALL_EVENTS) && !filter.events.includes(event.type)) return undefined;
  if (!selectsLinks(filter)) return "all";
  const isSelected = (id: Uuid): boolean => selects(filter, id, links.get(id));
  if (event.clicked_link_ids !== null) {
    const selected = event.clicked_link_ids.filter(isSelected);
    return selected.length === 0 ? undefined : selected;
  }
  return event.link_id === null || isSelected(event.link_id) ? "all" : undefined;
}

function selects(
  { link_ids, tags, domains }: WebhookFilter,
  id: Uuid,
  link: FilteredLink | undefined,
): boolean {
  if (link_ids !== null && !link_ids.includes(id)) return false;
  if (tags !== null && !tags.some((tag) => link?.tags.includes(tag))) return false;
  return domains === null || domains.some((domain) => link?.hosts.includes(domain));
}
