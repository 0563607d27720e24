/**
 * Values that fill a schema up to its bounds, and are valid: a member, a kind of condition or a
 * filter that is added to the product is filled from its first day.
 */
import { LOGO } from "../../shared/contracts/examples.ts";
import { createPng } from "../harness/png.ts";
import { type BodySchema, formatRoute, listRoutes } from "./routes.ts";
import { words } from "./texts.ts";

/** How much of a schema is filled. */
export type Extent = {
  /** Elements of an array whose most this is. */
  items: (most: number) => number;
  /** Characters of a text whose most this is. */
  length: (most: number) => number;
  /** Whether members are there that may be left out. */
  optional: boolean;
  /** Which of a list of choices is taken first. */
  choice: number;
  /** An existing link. */
  linkId: string;
  /** Part of every text that may have any form, so that no cache knows it. */
  nonce: string;
};

/** Most values of a body: fewer than `JSON_TOKENS_MAX`, which counts names too. */
const VALUES_MAX = 9_000;

/** Most elements and characters where a schema has no bound of its own. */
const ITEMS_DEFAULT = 100;
const URL_LENGTH = 8_192;
const TEXT_LENGTH = 64;

/**
 * Most characters of a value of a condition or a filter; a longer text of the same name is a header
 * that is explained.
 */
const VALUE_LENGTH_MAX = 1_024;

/**
 * Elements of lists that share a bound: 20 rules with 10 conditions each have `LINK_VALUES_MAX`
 * together, and so many filters `FILTER_VALUES_MAX`.
 */
const SHARED_ITEMS = 5;

/** Numbers that are an amount of work. */
const AMOUNTS = new Set(["limit", "size", "margin"]);

/** A member that may only be left out when another is there. */
const EITHER = "from";

/**
 * Members whose values are from a list that their schema does not contain; its example is one of
 * them.
 */
const LISTED = new Set(
  words("country region continent device language host trigger imported class"),
);

/**
 * Optional members that would make a valid body invalid, or the resource unreachable: names that
 * must exist or be new, and passwords, which are hashed elsewhere and exclude previews.
 */
const LEFT_OUT = new Set(
  words("alias domain id external_id password starts_at disabled archived period until"),
);

/** An image with `PIXELS_MAX` of `api/branding/service.ts`. */
const LARGE_IMAGE = createPng(2_000, 2_000).toString("base64");

/** Texts that have a form which their schema does not tell. */
const FORMS: Readonly<Record<string, (index: number, extent: Extent, most: number) => string>> = {
  ip: (index, _, most) =>
    most === TEXT_LENGTH ? "203.0.113.7" : `2001:db8:${index.toString(16)}::/48`,
  referrer: (index, { nonce, length }, most) =>
    most <= VALUE_LENGTH_MAX
      ? `r${index}.example`
      : `https://${nonce}.example.com/`.padEnd(length(most), "a/"),
  query: (index, { nonce, length }, most) =>
    most <= VALUE_LENGTH_MAX ? `${index}` : `${nonce}&`.padEnd(length(most), "a&"),
  user_agent: (_, { nonce, length }, most) =>
    `Mozilla/5.0 (${nonce})`.padEnd(length(most), " Android 1;"),
  embed_origins: (index) => `https://o${index}.example.com`,
  link_id: (_, { linkId }) => linkId,
  link_ids: (index, { linkId }) => (index === 0 ? linkId : createMissingId(index)),
  ids: createMissingId,
  by: () => "country,browser",
  // Of an app.
  code: () => "123456",
  email: (index, { nonce }) => `nobody-${nonce}-${index}@example.com`,
  domain: (index, { nonce }) => `d${nonce}-${index}.example.com`,
  // The longest name.
  timezone: () => "America/Argentina/ComodRivadavia",
  // A schedule that is hardly ever in force, so that its opposite matches.
  to: () => "09:01",
  start_date: () => "2026-10-01",
  end_date: () => "2026-10-02",
  color: () => "#1d4ed8",
  foreground: () => "#1d4ed8",
  background: () => "#ffffff",
  logo: (_, { length }, most) => (length(most) < LARGE_IMAGE.length ? LOGO : LARGE_IMAGE),
  utm_source: (_, { nonce, length }) => `u${nonce}`.padEnd(length(255), "x"),
};

function createMissingId(index: number): string {
  return `link_${String(index).padStart(26, "0")}`;
}

type Context = Extent & {
  root: BodySchema;
  name: string;
  index: number;
  example: unknown;
  /** Whether the value is in a condition of a rule. */
  isCondition: boolean;
  /** Values that may still be added. */
  left: { values: number };
};

/** Fills a schema. Texts of `name` are those of a member of this name. */
export const fillSchema = (schema: BodySchema, extent: Extent, name = ""): unknown =>
  fill(schema, {
    ...extent,
    root: schema,
    name,
    index: 0,
    example: undefined,
    isCondition: false,
    left: { values: VALUES_MAX },
  });

function fill(schema: BodySchema, context: Context): unknown {
  const { root, index, left } = context;
  const named = root.$defs?.[schema.$ref?.split("/").at(-1) ?? ""];
  if (named !== undefined) return fill(named, context);
  const example = schema.examples?.[0] ?? context.example;
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices !== undefined) {
    // The kinds of a condition in turn; of a value or a list of them, the list; of a value or null,
    // the value.
    const chosen =
      schema.oneOf?.[index % choices.length] ??
      choices.find(({ type }) => type === "array") ??
      choices[0];
    return chosen && fill(chosen, { ...context, example });
  }
  left.values--;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[(index + context.choice) % schema.enum.length];
  const type = typeof schema.type === "object" ? schema.type[0] : schema.type;
  switch (type) {
    case "object":
      return fillObject(schema, { ...context, example });
    case "array":
      return fillArray(schema, { ...context, example });
    case "integer":
    case "number":
      if (AMOUNTS.has(context.name)) return schema.maximum ?? 1;
      return Math.min((schema.minimum ?? 1) + index, schema.maximum ?? Infinity);
    case "boolean":
      return true;
    default:
      return fillText(schema, { ...context, example });
  }
}

function fillObject(schema: BodySchema, context: Context): unknown {
  const kind = schema.properties?.["type"]?.const;
  const members = Object.entries(schema.properties ?? {}).filter(
    ([name]) =>
      schema.required?.includes(name) === true ||
      name === EITHER ||
      (context.optional && !LEFT_OUT.has(name) && context.left.values > 0),
  );
  return Object.fromEntries(
    members.map(([name, member]) => [
      name,
      fill(member, {
        ...context,
        // The values of a condition have the form of its kind.
        name: name === "in" && typeof kind === "string" ? kind : name,
        example: undefined,
        isCondition: kind !== undefined,
      }),
    ]),
  );
}

function fillArray({ maxItems = ITEMS_DEFAULT, items }: BodySchema, context: Context): unknown[] {
  const { left, example } = context;
  const examples = Array.isArray(example) ? example : [example];
  const isShared = context.isCondition || items?.maxLength === VALUE_LENGTH_MAX;
  const count = context.items(isShared ? SHARED_ITEMS : maxItems);
  const values: unknown[] = [];
  while (values.length < count && (left.values > 0 || values.length === 0)) {
    const index = values.length;
    values.push(
      fill(items ?? { type: "string" }, {
        ...context,
        index,
        example: examples[index % examples.length],
      }),
    );
  }
  return values;
}

function fillText({ maxLength, pattern, format }: BodySchema, context: Context): string {
  const { name, index, length, nonce, example } = context;
  const form = FORMS[name];
  if (form !== undefined) return form(index, context, maxLength ?? TEXT_LENGTH);
  if (format === "date-time") return "2090-01-01T00:00:00Z";
  if (typeof example === "string" && /^https?:/.test(example))
    return `https://example.com/${index}/${nonce}?a=`.padEnd(
      length(Math.min(URL_LENGTH, maxLength ?? URL_LENGTH)),
      "a%20&b=",
    );
  if (/(?:^|_)url$/.test(name))
    return `https://example.com/${nonce}`.padEnd(
      length(Math.min(URL_LENGTH, maxLength ?? URL_LENGTH)),
      "a/",
    );
  const isHeader = (maxLength ?? 0) > VALUE_LENGTH_MAX;
  if (typeof example === "string" && LISTED.has(name) && !isHeader) return example;
  const isFixed = pattern !== undefined || format !== undefined || maxLength === undefined;
  if (typeof example === "string" && isFixed) return example;
  return `${index}-${nonce}`.padEnd(length(maxLength ?? TEXT_LENGTH), "x").slice(0, maxLength);
}

/** One condition of each kind that the API accepts, with as many values as 200 of them may have. */
export function sampleConditions(): Record<string, unknown>[] {
  const body = listRoutes().find((route) => formatRoute(route) === "api POST /v1/links")?.body;
  const condition = body?.$defs?.["LinkCondition"];
  return (condition?.oneOf ?? []).map((kind) => {
    const schema = { ...kind, $defs: body?.$defs ?? {} };
    const extent = {
      // Of a few possible values only one, so that the visitor's is another.
      items: (most: number) => (kind.properties?.["in"]?.items?.enum === undefined ? most : 1),
      length: () => 12,
      optional: true,
      choice: 0,
      linkId: "",
      nonce: "v",
    };
    // The schema describes an object.
    return fillSchema(schema, extent) as Record<string, unknown>;
  });
}
