/**
 * Resolves the filters of a query to ClickHouse conditions. PostgreSQL provides the tags and
 * domains of links.
 */
import type { Uuid } from "../../shared/ids.ts";
import type { Values } from "../http/filter-parameter.ts";
import type { AccountScope } from "../http/principal.ts";
import type { LinkService } from "../links/service.ts";
import type { ColumnFilter } from "./filter-names.ts";
import type { FilterQuery } from "./filter-parameters.ts";
import {
  columnCondition,
  linkCondition,
  type LinkSets,
  matchesFilters,
  readFilters,
  type Selection,
} from "./filters.ts";

type Links = Pick<LinkService, "findIds" | "requireKnownDomains">;

/**
 * Resolves filters. Throws `invalid_request` when they have too many values, name a domain that the
 * owner does not have, or select too many links. `path` is the filters' path in the request, with a
 * trailing dot.
 */
export async function resolveSelection(
  links: Links,
  owner: AccountScope,
  query: FilterQuery,
  path = "",
): Promise<Selection> {
  const filters = readFilters(query);
  const sets = await resolveLinks(links, owner, filters.links, path);
  return {
    columns: columnCondition(filters),
    links: linkCondition(sets, "link_id"),
    subjects: linkCondition(sets, "subject_id"),
    classes: filters.classes,
    filters,
  };
}

/** Whether a click of one link passes filters; throws as {@link resolveSelection}. */
export async function resolveMatcher(
  links: Links,
  owner: AccountScope,
  linkId: Uuid,
  query: FilterQuery,
): Promise<(click: Partial<Record<ColumnFilter | "class", string>>) => boolean> {
  const filters = readFilters(query);
  const { anyOf, noneOf } = await resolveLinks(links, owner, filters.links, "");
  if (anyOf?.includes(linkId) === false || noneOf.includes(linkId)) return () => false;
  return (click) => matchesFilters(filters, click);
}

/** A deleted link has no tags and no domain, so it is never excluded. */
async function resolveLinks(
  links: Links,
  owner: AccountScope,
  { tag, domain }: { tag: Values; domain: Values },
  path: string,
): Promise<LinkSets> {
  const properties = {
    ...(tag.anyOf.length === 0 ? {} : { tags: tag.anyOf }),
    ...(domain.anyOf.length === 0 ? {} : { domains: domain.anyOf }),
  };
  const [anyOf, tagged, onDomains] = await Promise.all([
    Object.keys(properties).length === 0 ? undefined : links.findIds(owner, properties),
    tag.noneOf.length === 0 ? [] : links.findIds(owner, { tags: tag.noneOf }),
    domain.noneOf.length === 0 ? [] : links.findIds(owner, { domains: domain.noneOf }),
    links.requireKnownDomains(owner, [...domain.anyOf, ...domain.noneOf], `${path}domain`),
  ]);
  return { anyOf, noneOf: [...new Set([...tagged, ...onDomains])] };
}
