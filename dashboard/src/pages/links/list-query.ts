/** The query of the list of links, in the form of the page's URL and of the API. */
import type { Query } from "../../../../clients/typescript/src/index.ts";
import { UTM_NAMES, type UtmName } from "../../../../shared/contracts/analytics.ts";
import {
  type AccountScope,
  getBasePath,
  SEARCH_LENGTH_MAX,
  type SearchUpdate,
  toSearch,
} from "../../data/scope.ts";
import { toLocalTime } from "../../ui/local-time.ts";

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
  /** Values as the API takes them: `-` before one excludes it. */
  utm: Partial<Record<UtmName, string[]>>;
  /** The id of a key or a user. */
  created_by?: string;
  /** Instants: at the first one or later, and before the second. */
  created_after?: string;
  created_before?: string;
  limit: (typeof PAGE_SIZES)[number];
};

// Bounds within those of the API, whose schemas the first script must not load.
const TAG_LENGTH_MAX = 50;
const TAGS_MAX = 20;
const DOMAIN_LENGTH_MAX = 253;
const UTM_LENGTH_MAX = 1_024;
const UTM_VALUES_MAX = 20;
const CREATOR_LENGTH_MAX = 40;

/** The parameters of a list that select links; the others order it and divide it into pages. */
const CONDITIONS: readonly string[] = [
  "search",
  "tag",
  "domain",
  "archived",
  "expired",
  ...UTM_NAMES,
  "created_by",
  "created_after",
  "created_before",
];

/** Reads a valid query from the URL; replaces invalid values by defaults. */
export function readListQuery(params: URLSearchParams): ListQuery {
  const search = (params.get("search") ?? "").trim().slice(0, SEARCH_LENGTH_MAX);
  const domain = (params.get("domain") ?? "").slice(0, DOMAIN_LENGTH_MAX);
  const tags = params.getAll("tag").map((tag) => tag.slice(0, TAG_LENGTH_MAX));
  const archived = params.get("archived");
  const expired = params.get("expired");
  const createdBy = (params.get("created_by") ?? "").slice(0, CREATOR_LENGTH_MAX);
  const [after, before] = [readTime(params, "created_after"), readTime(params, "created_before")];
  return {
    sort: SORTS.find((sort) => sort === params.get("sort")) ?? "created_at",
    order: params.get("order") === "asc" ? "asc" : "desc",
    tags: [...new Set(tags.filter(Boolean))].slice(0, TAGS_MAX),
    limit: PAGE_SIZES.find((size) => String(size) === params.get("limit")) ?? PAGE_SIZE_DEFAULT,
    ...(search === "" ? {} : { search }),
    ...(domain === "" ? {} : { domain }),
    ...(archived === "true" || archived === "any" ? { archived } : {}),
    ...(expired === "true" || expired === "false" ? { expired } : {}),
    utm: readUtm(params),
    ...(createdBy === "" ? {} : { created_by: createdBy }),
    ...(after === undefined ? {} : { created_after: after }),
    ...(before === undefined ? {} : { created_before: before }),
  };
}

function readUtm(params: URLSearchParams): ListQuery["utm"] {
  const given = UTM_NAMES.map((name) => {
    const values = params.getAll(name).filter((text) => text.length <= UTM_LENGTH_MAX);
    return [name, [...new Set(values)].slice(0, UTM_VALUES_MAX)] as const;
  });
  return Object.fromEntries(given.filter(([, values]) => values.length > 0));
}

function readTime(params: URLSearchParams, name: string): string | undefined {
  const time = new Date(params.get(name) ?? "");
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}

/** The query in the API's form. */
export const toApiQuery = ({ tags, utm, ...query }: ListQuery): Query<"listLinks"> => ({
  ...query,
  ...utm,
  ...(tags.length === 0 ? {} : { tag: [...tags] }),
});

/** The conditions of the query, as the URL has them and as a filter is saved. */
export function toConditions(query: ListQuery): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(toApiQuery(query)))
    if (CONDITIONS.includes(name))
      for (const one of [value].flat()) params.append(name, String(one));
  return params.toString();
}

/** The URL update that replaces all conditions by those of a saved filter. */
export function replaceConditions(saved: string): SearchUpdate {
  const params = new URLSearchParams(saved);
  return Object.fromEntries(CONDITIONS.map((name) => [name, params.getAll(name)]));
}

/** Whether the query has conditions; a list without any leaves out only archived links. */
export const isFiltered = (query: ListQuery): boolean => toConditions(query) !== "";

/** The local day of an instant, for an input; at the end of a range, the last day before it. */
export const dayOf = (instant: string | undefined, isEnd = false): string =>
  instant === undefined
    ? ""
    : toLocalTime(new Date(Date.parse(instant) - (isEnd ? 1 : 0)).toISOString()).slice(0, 10);

/** When a local day begins or, at the end of a range, when it ends; undefined for no day. */
export function boundOf(day: string, isEnd = false): string | undefined {
  const start = new Date(`${day}T00:00`);
  if (Number.isNaN(start.getTime())) return undefined;
  if (isEnd) start.setDate(start.getDate() + 1);
  return start.toISOString();
}

type Status = {
  value: string;
  /** The key of its text. Its module has the type of all keys, but needs a browser. */
  label: `links.status.${"unarchived" | "unexpired" | "expired" | "archived" | "any"}`;
  archived?: ListQuery["archived"];
  expired?: ListQuery["expired"];
};

/** The states that links can be filtered by. */
export const STATUSES: readonly Status[] = [
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

/** The URL update that adds a tag to the filter. */
export const addTag = ({ tags }: ListQuery, tag: string): SearchUpdate => ({
  tag: [...new Set([...tags, tag.trim()])].filter(Boolean).slice(0, TAGS_MAX),
});

/** The URL update that removes a tag from the filter. */
export const removeTag = ({ tags }: ListQuery, tag: string): SearchUpdate => ({
  tag: tags.filter((other) => other !== tag),
});

/** The path of a request for links after a cursor, "" for the start. */
export const listPath = (
  scope: AccountScope,
  query: ListQuery,
  limit: number,
  after: string,
): string =>
  // The settings determine a link's state.
  `${getBasePath(scope)}/v1/links?${toSearch({
    ...toApiQuery(query),
    include: "settings",
    limit,
    starting_after: after,
  })}`;
