/**
 * Filters of analytics, which select the counted clicks. The URL contains them as the API's own
 * parameters.
 */

/** Names of the filters, by parameter. */
export const FILTER_LABELS = {
  country: "analytics.dimensions.country",
  region: "analytics.dimensions.region",
  city: "analytics.dimensions.city",
  continent: "analytics.dimensions.continent",
  device: "analytics.dimensions.device",
  browser: "analytics.dimensions.browser",
  os: "analytics.dimensions.system",
  language: "analytics.dimensions.language",
  referrer: "analytics.dimensions.referrer",
  referrer_path: "analytics.dimensions.referringPage",
  host: "analytics.dimensions.host",
  trigger: "analytics.dimensions.trigger",
  imported: "analytics.dimensions.imported",
  utm_source: "analytics.dimensions.utmSource",
  utm_medium: "analytics.dimensions.utmMedium",
  utm_campaign: "analytics.dimensions.utmCampaign",
  utm_term: "analytics.dimensions.utmTerm",
  utm_content: "analytics.dimensions.utmContent",
  tag: "analytics.dimensions.tag",
  domain: "analytics.dimensions.domain",
  class: "analytics.dimensions.visitors",
} as const;

export type FilterName = keyof typeof FILTER_LABELS;

export const FILTER_NAMES = Object.keys(FILTER_LABELS) as FilterName[];

/**
 * Counts clicks with the value, or only other clicks. Several values of one name are alternatives.
 */
export type Filter = { name: FilterName; value: string; negated: boolean };

/** The filter for clicks with a value. */
export const only = (name: FilterName, value: string): Filter => ({ name, value, negated: false });

export const isSameFilter = (a: Filter, b: Filter): boolean =>
  a.name === b.name && a.value === b.value && a.negated === b.negated;

/** Reads the filters in the URL's query. */
export const readFilters = (params: URLSearchParams): Filter[] =>
  FILTER_NAMES.flatMap((name) => params.getAll(name).map((text) => ({ name, ...parse(text) })));

/** A leading `-` excludes; a backslash escapes the character after it. */
function parse(text: string): Omit<Filter, "name"> {
  const negated = text.startsWith("-");
  const value = negated ? text.slice(1) : text;
  return { value: value.startsWith("\\") ? value.slice(1) : value, negated };
}

/** The filters as query parameters, of the API and of the page's URL. */
export function toFilterQuery(filters: readonly Filter[]): Partial<Record<FilterName, string[]>> {
  const query: Partial<Record<FilterName, string[]>> = {};
  for (const { name, value, negated } of filters) {
    const escaped = /^[-\\]/.test(value) ? `\\${value}` : value;
    (query[name] ??= []).push(negated ? `-${escaped}` : escaped);
  }
  return query;
}

/** Adds filters, each once. */
export const addFilters = (before: readonly Filter[], added: readonly Filter[]): Filter[] => [
  ...before,
  ...added.filter((filter) => !before.some((each) => isSameFilter(each, filter))),
];

/**
 * Adds filters. If a name already has one, the values become alternatives. If all of them are
 * already present, removes them, so that a second click undoes the first.
 */
export function toggleFilters(before: readonly Filter[], toggled: readonly Filter[]): Filter[] {
  const isIn = (list: readonly Filter[], filter: Filter) =>
    list.some((each) => isSameFilter(each, filter));
  return toggled.every((filter) => isIn(before, filter))
    ? before.filter((filter) => !isIn(toggled, filter))
    : addFilters(before, toggled);
}

/**
 * The filters of clicks that a filter of the list of links says; undefined for one that no filter
 * of clicks says: a text, a time, a creator, or two tags that a link must have both.
 */
export function toClickFilters(query: string): Filter[] | undefined {
  const params = new URLSearchParams(query);
  const isSaid = [...params].every(
    ([name, value]) => LINK_CONDITIONS.has(name) || (name === "archived" && value === "any"),
  );
  if (!isSaid || params.size === 0 || params.getAll("tag").length > 1) return undefined;
  return [
    ...readFilters(params).filter(({ name }) => name !== "tag" && name !== "domain"),
    // As they are: only the other values are escaped there.
    ...params.getAll("tag").map((tag) => only("tag", tag)),
    ...params.getAll("domain").map((domain) => only("domain", domain)),
  ];
}

const LINK_CONDITIONS: ReadonlySet<string> = new Set(
  FILTER_NAMES.filter((name) => name === "tag" || name === "domain" || name.startsWith("utm_")),
);
