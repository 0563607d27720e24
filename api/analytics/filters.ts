/**
 * Filters of analytics: query parameters that select clicks by a column, or by a property of their link. Several values of
 * one parameter are alternatives, `-` before a value excludes it, and all parameters must match.
 */
import * as z from "zod";

import type { Uuid } from "../../shared/ids.ts";
import { ApiError } from "../http/errors.ts";

/** Filters by a column of `clicks`. */
export const COLUMN_FILTERS = [
  "country",
  "region",
  "city",
  "continent",
  "device",
  "browser",
  "os",
  "referrer",
  "referrer_path",
  "language",
  "host",
  "utm_source",
  "utm_medium",
  "utm_campaign",
  "utm_term",
  "utm_content",
] as const;

export type ColumnFilter = (typeof COLUMN_FILTERS)[number];

/** Filters by what PostgreSQL knows of a click's link. */
const LINK_FILTERS = ["tag", "domain"] as const;

/** What is counted as clicks: people's, unless the filter `class` says otherwise. */
export const CLASSES = ["human", "bot", "prefetch"] as const;

type ClickClass = (typeof CLASSES)[number];

const FILTERS = [...COLUMN_FILTERS, ...LINK_FILTERS, "class"] as const;

type FilterName = (typeof FILTERS)[number];

/** Values of all filters of one query together. */
const FILTER_VALUES_MAX = 100;

/** Characters of one value; the longest stored one is a referrer's path of 512. */
const FILTER_VALUE_LENGTH_MAX = 1_024;

const filterValue = z.string().max(FILTER_VALUE_LENGTH_MAX);

/** The values of a query parameter that may be repeated. */
const parameter = (description: string, example: string) =>
  z
    .union([filterValue, z.array(filterValue).max(FILTER_VALUES_MAX)])
    .optional()
    .meta({ description, examples: [example] });

/** The query parameters of all filters. */
export const filterParameters = {
  country: parameter("ISO 3166-1 code of the country; `ZZ` where it is unknown.", "DE"),
  region: parameter("ISO 3166-2 code of the region, without the country.", "BE"),
  city: parameter("Name of the city.", "Berlin"),
  continent: parameter("Code of the continent.", "EU"),
  device: parameter("`mobile`, `desktop`, `tablet` or `other`.", "mobile"),
  browser: parameter("Name of the browser.", "Chrome"),
  os: parameter("Name of the operating system.", "iOS"),
  referrer: parameter("Registrable domain of the referring page, or `direct`.", "example.com"),
  referrer_path: parameter("Path of the referring page.", "/news"),
  language: parameter("Preferred language of the browser.", "de"),
  host: parameter("Short domain that was visited.", "short.example.com"),
  utm_source: parameter("`utm_source` of the click.", "newsletter"),
  utm_medium: parameter("`utm_medium` of the click.", "email"),
  utm_campaign: parameter("`utm_campaign` of the click.", "summer"),
  utm_term: parameter("`utm_term` of the click.", "shoes"),
  utm_content: parameter("`utm_content` of the click.", "header"),
  tag: parameter("A tag that the link has now.", "launch"),
  domain: parameter("Domain of the link.", "go.example.com"),
  class: parameter(
    "`human`, `bot` or `prefetch`: which clicks are counted. Only people's by default.",
    "human",
  ),
} satisfies Record<FilterName, z.ZodType>;

export type FilterQuery = Partial<Record<FilterName, string | string[] | undefined>>;

/** Values of which one must match (if there are any), and values of which none may. */
export type Values<Value extends string = string> = { anyOf: Value[]; noneOf: Value[] };

export type Filters = {
  columns: ReadonlyMap<ColumnFilter, Values>;
  links: Record<(typeof LINK_FILTERS)[number], Values>;
  /** The classes whose clicks are counted. */
  classes: readonly ClickClass[];
};

/** Reads the filters of a query. Throws `invalid_request` for too many values, or an unknown class. */
export function readFilters(query: FilterQuery): Filters {
  const values = new Map<FilterName, Values>();
  let count = 0;
  for (const name of FILTERS) {
    const given = query[name];
    if (given === undefined) continue;
    const texts = typeof given === "string" ? [given] : given;
    count += texts.length;
    values.set(name, readValues(texts));
  }
  if (count > FILTER_VALUES_MAX) {
    throw new ApiError(
      "invalid_request",
      `The filters have too many values: ${FILTER_VALUES_MAX} at most.`,
    );
  }
  const none: Values = { anyOf: [], noneOf: [] };
  return {
    columns: new Map(
      COLUMN_FILTERS.flatMap((name): [ColumnFilter, Values][] => {
        const found = values.get(name);
        return found === undefined ? [] : [[name, found]];
      }),
    ),
    links: { tag: values.get("tag") ?? none, domain: values.get("domain") ?? none },
    classes: readClasses(values.get("class")),
  };
}

/** A leading `-` excludes; a backslash makes the character after it an ordinary one. */
function readValues(texts: readonly string[]): Values {
  const values: Values = { anyOf: [], noneOf: [] };
  for (const text of texts) {
    const negated = text.startsWith("-");
    const value = negated ? text.slice(1) : text;
    values[negated ? "noneOf" : "anyOf"].push(value.startsWith("\\") ? value.slice(1) : value);
  }
  return values;
}

function readClasses(values: Values | undefined): readonly ClickClass[] {
  if (values === undefined) return ["human"];
  const known: readonly string[] = CLASSES;
  if ([...values.anyOf, ...values.noneOf].some((value) => !known.includes(value))) {
    throw new ApiError(
      "invalid_request",
      `Invalid value for "class": expected one of ${CLASSES.join(", ")}.`,
    );
  }
  const { anyOf, noneOf }: { anyOf: readonly string[]; noneOf: readonly string[] } = values;
  return CLASSES.filter(
    (name) => (anyOf.length === 0 || anyOf.includes(name)) && !noneOf.includes(name),
  );
}

/** Columns whose empty text is shown, and asked for, under a name. */
const SHOWN_AS_UNKNOWN: readonly string[] = ["region", "city"] satisfies ColumnFilter[];

/** The name of the empty text of locations. */
export const UNKNOWN = "Unknown";

/** The text under which clients see a value of a column. */
export const toShownValue = (column: string, value: string): string =>
  value === "" && SHOWN_AS_UNKNOWN.includes(column) ? UNKNOWN : value;

const toStoredValue = (column: ColumnFilter, value: string): string =>
  value === UNKNOWN && SHOWN_AS_UNKNOWN.includes(column) ? "" : value;

/** A WHERE clause with its parameters. */
export type Condition = { condition: string; params: Record<string, unknown> };

/** The names of the enumeration `device`; ClickHouse rejects others, so they are left out: they match nothing. */
const DEVICES: ReadonlySet<string> = new Set(["mobile", "desktop", "tablet", "other"]);

/** The condition of the filters by column, which only raw clicks have; undefined without such filters. */
export function columnCondition({ columns }: Pick<Filters, "columns">): Condition | undefined {
  const parts: string[] = [];
  const params: Record<string, unknown> = {};
  for (const [column, values] of columns) {
    const texts = (side: keyof Values) =>
      column === "device"
        ? values[side].filter((value) => DEVICES.has(value))
        : values[side].map((value) => toStoredValue(column, value));
    if (values.anyOf.length > 0) {
      params[`${column}_any`] = texts("anyOf");
      parts.push(`${column} IN {${column}_any: Array(String)}`);
    }
    if (values.noneOf.length > 0) {
      params[`${column}_none`] = texts("noneOf");
      parts.push(`${column} NOT IN {${column}_none: Array(String)}`);
    }
  }
  return parts.length === 0 ? undefined : { condition: parts.join(" AND "), params };
}

/** Whether a click that has these values passes the filters by column and class. */
export function matchesFilters(
  { columns, classes }: Pick<Filters, "columns" | "classes">,
  click: Partial<Record<ColumnFilter | "class", string>>,
): boolean {
  return (
    (classes as readonly string[]).includes(click.class ?? "") &&
    [...columns].every(([column, { anyOf, noneOf }]) => {
      const shown = toShownValue(column, click[column] ?? "");
      return (anyOf.length === 0 || anyOf.includes(shown)) && !noneOf.includes(shown);
    })
  );
}

/** Links whose clicks alone are counted, and links whose clicks are not. */
export type LinkSets = { anyOf: readonly Uuid[] | undefined; noneOf: readonly Uuid[] };

/**
 * Links in one parameter, at most 39 bytes each: ClickHouse rejects a form's field of more than 128 KiB
 * (`http_max_field_value_size`).
 */
const PARAMETER_LINKS_MAX = 3_000;

/** The condition of sets of links, on any table with links or subjects; undefined when all links count. */
export function linkCondition(
  { anyOf, noneOf }: LinkSets,
  column: "link_id" | "subject_id",
): Condition | undefined {
  const any = anyOf === undefined ? undefined : membership(column, "links_any", anyOf);
  const none = noneOf.length === 0 ? undefined : membership(column, "links_none", noneOf);
  if (any === undefined && none === undefined) return undefined;
  const parts = [
    ...(any === undefined ? [] : [`(${any.condition})`]),
    ...(none === undefined ? [] : [`NOT (${none.condition})`]),
  ];
  return { condition: parts.join(" AND "), params: { ...any?.params, ...none?.params } };
}

/** Whether a column has one of the ids, which are sent in as many parameters as they need. */
function membership(column: string, name: string, ids: readonly Uuid[]): Condition {
  const parts: string[] = [];
  const params: Record<string, unknown> = {};
  for (let from = 0; from === 0 || from < ids.length; from += PARAMETER_LINKS_MAX) {
    const parameter = `${name}_${parts.length}`;
    params[parameter] = ids.slice(from, from + PARAMETER_LINKS_MAX);
    parts.push(`${column} IN {${parameter}: Array(UUID)}`);
  }
  return { condition: parts.join(" OR "), params };
}

/** What of the clicks of a link or an account is counted. */
export type Selection = {
  /** Of columns that only raw clicks have. */
  columns: Condition | undefined;
  links: Condition | undefined;
  /** As `links`, for rollups whose `subject_id` is a link or an account. */
  subjects: Condition | undefined;
  classes: readonly ClickClass[];
  /** Those by column, as they were given. */
  filters: Pick<Filters, "columns">;
};

/** Whether rollups of people's clicks cannot answer. */
export const needsRawClicks = ({ columns, classes }: Selection): boolean =>
  columns !== undefined || classes.length !== 1 || classes[0] !== "human";

/** Joins conditions and their parameters. */
export const allOf = (...conditions: readonly (Condition | undefined)[]): Condition => {
  const given = conditions.filter((each) => each !== undefined);
  return {
    condition: given.map(({ condition }) => condition).join(" AND "),
    params: Object.assign({}, ...given.map(({ params }) => params)),
  };
};
