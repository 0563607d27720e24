/** The query of the list of links, in the form of the page's URL and of the API. */
import type { Query } from "../../../../clients/typescript/src/index.ts";
import type { TextKey } from "../../languages/catalogues.ts";
import type { SearchUpdate } from "../../ui/search-state.ts";

const SORTS = ["created_at", "clicks", "last_click_at"] as const;

export type Sort = (typeof SORTS)[number];
export type Order = "asc" | "desc";

/** The possible numbers of links per page; the maximum is that of one bulk request. */
export const PAGE_SIZES = [20, 50, 100] as const;

const PAGE_SIZE_DEFAULT = 20;

export type ListQuery = {
  sort: Sort;
  order: Order;
  search?: string;
  /** Links must have all of them. */
  tags: readonly string[];
  domain?: string;
  archived?: "true" | "any";
  expired?: "true" | "false";
  /** Links of a page. */
  limit: (typeof PAGE_SIZES)[number];
};

/** The API's bounds; a longer value would be rejected. */
const SEARCH_LENGTH_MAX = 255;
const TAG_LENGTH_MAX = 50;
const TAGS_MAX = 20;
const DOMAIN_LENGTH_MAX = 253;

/** Reads a valid query from the URL; replaces invalid values by defaults. */
export function readListQuery(params: URLSearchParams): ListQuery {
  const search = (params.get("search") ?? "").trim().slice(0, SEARCH_LENGTH_MAX);
  const domain = (params.get("domain") ?? "").slice(0, DOMAIN_LENGTH_MAX);
  const tags = params.getAll("tag").map((tag) => tag.slice(0, TAG_LENGTH_MAX));
  const archived = params.get("archived");
  const expired = params.get("expired");
  return {
    sort: SORTS.find((sort) => sort === params.get("sort")) ?? "created_at",
    order: params.get("order") === "asc" ? "asc" : "desc",
    tags: [...new Set(tags.filter(Boolean))].slice(0, TAGS_MAX),
    limit: PAGE_SIZES.find((size) => String(size) === params.get("limit")) ?? PAGE_SIZE_DEFAULT,
    ...(search === "" ? {} : { search }),
    ...(domain === "" ? {} : { domain }),
    ...(archived === "true" || archived === "any" ? { archived } : {}),
    ...(expired === "true" || expired === "false" ? { expired } : {}),
  };
}

/** The query in the API's form. */
export const toApiQuery = ({ tags, ...query }: ListQuery): Query<"listLinks"> => ({
  ...query,
  ...(tags.length === 0 ? {} : { tag: [...tags] }),
});

/** Whether the query excludes any links other than archived ones. */
export const isFiltered = ({ search, tags, domain, archived, expired }: ListQuery): boolean =>
  tags.length > 0 || [search, domain, archived, expired].some((value) => value !== undefined);

type Status = Pick<ListQuery, "archived" | "expired">;

/** The states that links can be filtered by. */
export const STATUSES: readonly (Status & { value: string; label: TextKey })[] = [
  { value: "", label: "links.status.unarchived" },
  { value: "unexpired", label: "links.status.unexpired", expired: "false" },
  { value: "expired", label: "links.status.expired", expired: "true" },
  { value: "archived", label: "links.status.archived", archived: "true" },
  { value: "any", label: "links.status.any", archived: "any" },
];

/** The state that a query filters by; undefined for a combination that has none. */
export const readStatus = ({ archived, expired }: ListQuery): string | undefined =>
  STATUSES.find((status) => status.archived === archived && status.expired === expired)?.value;

/** The URL update for a selected state. */
export function chooseStatus(value: string): SearchUpdate {
  const { archived, expired } = STATUSES.find((status) => status.value === value) ?? {};
  return { archived, expired };
}

/** The URL update that adds a tag to the filter, or removes it. */
export const addTag = ({ tags }: ListQuery, tag: string): SearchUpdate => ({
  tag: [...new Set([...tags, tag.trim()])].filter(Boolean).slice(0, TAGS_MAX),
});

export const removeTag = ({ tags }: ListQuery, tag: string): SearchUpdate => ({
  tag: tags.filter((other) => other !== tag),
});
