/**
 * Filters of analytics: which clicks are counted. Several values of one filter are alternatives,
 * and all filters must match.
 */
import type { Uuid } from "../../shared/ids.ts";
import { ApiError } from "../http/errors.ts";
import { FILTER_VALUES_MAX, type Values } from "../http/filter-parameter.ts";
import {
  CLASSES,
  COLUMN_FILTERS,
  type ColumnFilter,
  FILTERS,
  type LINK_FILTERS,
} from "./filter-names.ts";
import type { FilterQuery } from "./filter-parameters.ts";
import { CASELESS, lowerAscii } from "./filter-values.ts";

type ClickClass = (typeof CLASSES)[number];

export type Filters = {
  columns: ReadonlyMap<ColumnFilter, Values>;
  links: Record<(typeof LINK_FILTERS)[number], Values>;
  /** The classes whose clicks are counted. */
  classes: readonly ClickClass[];
};

const NO_VALUES: Values = { anyOf: [], noneOf: [] };

/** Counts clicks of every class. */
export const EVERY_CLASS: Values = { anyOf: [...CLASSES], noneOf: [] };

/** Reads the filters of a query. Throws `invalid_request` for too many values. */
export function readFilters(query: FilterQuery): Filters {
  const count = FILTERS.reduce((sum, name) => {
    const { anyOf, noneOf } = query[name] ?? NO_VALUES;
    return sum + anyOf.length + noneOf.length;
  }, 0);
  if (count > FILTER_VALUES_MAX) {
    throw new ApiError(
      "invalid_request",
      `The filters have too many values: ${FILTER_VALUES_MAX} at most.`,
    );
  }
  return {
    columns: new Map(
      COLUMN_FILTERS.flatMap((name): [ColumnFilter, Values][] => {
        const found = query[name];
        return found === undefined ? [] : [[name, found]];
      }),
    ),
    links: { tag: query.tag ?? NO_VALUES, domain: query.domain ?? NO_VALUES },
    classes: toClasses(query.class),
  };
}

function toClasses(values: Values | undefined): readonly ClickClass[] {
  if (values === undefined) return ["human"];
  const { anyOf, noneOf } = values;
  return CLASSES.filter(
    (name) => (anyOf.length === 0 || anyOf.includes(name)) && !noneOf.includes(name),
  );
}

/** A WHERE clause with its parameters. */
export type Condition = { condition: string; params: Record<string, unknown> };

/**
 * The condition of the filters by column, which only raw clicks support; undefined without such
 * filters.
 */
export function columnCondition({ columns }: Pick<Filters, "columns">): Condition | undefined {
  const parts: string[] = [];
  const params: Record<string, unknown> = {};
  for (const [column, { anyOf, noneOf }] of columns) {
    const compared = CASELESS.has(column) ? `lower(${column})` : column;
    if (anyOf.length > 0) {
      params[`${column}_any`] = anyOf;
      parts.push(`${compared} IN {${column}_any: Array(String)}`);
    }
    if (noneOf.length > 0) {
      params[`${column}_none`] = noneOf;
      parts.push(`${compared} NOT IN {${column}_none: Array(String)}`);
    }
  }
  return parts.length === 0 ? undefined : { condition: parts.join(" AND "), params };
}

/** Whether a click with these values passes the filters by column and class. */
export function matchesFilters(
  { columns, classes }: Pick<Filters, "columns" | "classes">,
  click: Partial<Record<ColumnFilter | "class", string>>,
): boolean {
  return (
    (classes as readonly string[]).includes(click.class ?? "") &&
    [...columns].every(([column, { anyOf, noneOf }]) => {
      const stored = click[column] ?? "";
      const value = CASELESS.has(column) ? lowerAscii(stored) : stored;
      return (anyOf.length === 0 || anyOf.includes(value)) && !noneOf.includes(value);
    })
  );
}

/** Only clicks of links in `anyOf` are counted; clicks of links in `noneOf` are not. */
export type LinkSets = { anyOf: readonly Uuid[] | undefined; noneOf: readonly Uuid[] };

/**
 * Maximum links in one parameter, at most 39 bytes each: ClickHouse rejects a form field of more
 * than 128 KiB (`http_max_field_value_size`).
 */
const PARAMETER_LINKS_MAX = 3_000;

/**
 * The condition of sets of links, on any table with links or subjects; undefined when all links
 * count.
 */
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

/**
 * Whether a column contains one of the ids. Splits the ids into as many parameters as they need.
 */
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

/** The clicks of a link or an account to count. */
export type Selection = {
  /** Conditions on columns that only raw clicks have. */
  columns: Condition | undefined;
  links: Condition | undefined;
  /** As `links`, for rollups whose `subject_id` is a link or an account. */
  subjects: Condition | undefined;
  classes: readonly ClickClass[];
  /** The filters by column, as the client sent them. */
  filters: Pick<Filters, "columns">;
};

/** Whether rollups of human clicks cannot be used. */
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
