/** Calls of the API and the dashboard's API with each part at its bounds. */
import { withHeader } from "../request-edits.ts";
import type { BodySchema, Route } from "../routes.ts";
import { type Filling, type Part, type Parts, PLAIN, repeat } from "./part.ts";
import { type Extent, fillSchema } from "./schema-values.ts";

const BODY_BYTES_MAX = 1024 * 1024;
const JSON_DEPTH_MAX = 32;
const JSON_TOKENS_MAX = 20_000;
const PARAMETERS_MAX = 200;
const FORM_BYTES_MAX = 2_048;
const NAME_LENGTH_MAX = 100;
const CURSOR_LENGTH_MAX = 8_192;
const APP_FILE_BYTES_MAX = 16 * 1024;
const KEY_LENGTH_MAX = 255;
/** Most fields that Bun reads. */
const FIELDS_MAX = 200;

/**
 * Characters of a text where the number of values counts, and values where the length of texts
 * does.
 */
const SHORT = 12;
const FEW = 2;

/**
 * Bounds that schemas contain, so that every route with such a member or parameter reaches them.
 */
export const SCHEMA_BOUNDS = [
  "shared/contracts/web-url.ts URL_LENGTH_MAX",
  "shared/contracts/link-schemas.ts TAGS_MAX",
  "shared/contracts/link-schemas.ts TAG_LENGTH_MAX",
  "shared/contracts/link-schemas.ts TITLE_LENGTH_MAX",
  "shared/contracts/link-schemas.ts UTM_LENGTH_MAX",
  "shared/contracts/link-schemas.ts BULK_LINKS_MAX",
  "shared/contracts/link-rules.ts NAME_LENGTH_MAX",
  "shared/contracts/link-rules.ts VALUE_LENGTH_MAX",
  "shared/contracts/key-schemas.ts KEY_NAME_LENGTH_MAX",
  "shared/contracts/share-schemas.ts NAME_LENGTH_MAX",
  "shared/contracts/share-schemas.ts BREAKDOWNS_MAX",
  "shared/contracts/users.ts PERSON_NAME_LENGTH_MAX",
  "shared/contracts/users.ts PASSWORD_LENGTH",
  "shared/contracts/share-schemas.ts BRAND_NAME_LENGTH_MAX",
  "shared/contracts/view-schemas.ts QUERY_LENGTH_MAX",
  "shared/contracts/webhook-schemas.ts WEBHOOK_NAMES_MAX",
  "shared/contracts/qr-style.ts MARGIN_MAX",
  "api/branding/service.ts PIXELS_MAX",
  "api/shares/model.ts EMBED_ORIGINS_MAX",
  "api/links/explain.ts HEADER_LENGTH_MAX",
  "api/links/model.ts URL_LENGTH_MAX",
  "api/links/model.ts SEARCH_LENGTH_MAX",
  "api/http/query.ts FILTER_VALUES_MAX",
  "api/http/query.ts FILTER_VALUE_LENGTH_MAX",
  "api/analytics/model.ts DIMENSIONS_MAX",
  "api/analytics/model.ts LINKS_MAX",
  "shared/contracts/link-record.ts LINK_RECORD_BYTES_MAX",
] as const;

const share =
  (filling: Filling) =>
  (most: number): number =>
    Math.max(1, Math.floor(most * filling.share));

/** A body of the route's schema; without one, the request stays as it is. */
const body = (
  reaches: readonly string[],
  toExtent: (filling: Filling) => Partial<Extent>,
): Part => ({
  reaches,
  fill(request, filling) {
    const { body: schema } = filling.route;
    if (schema === undefined) return request;
    const value = fillSchema(schema, { ...extentOf(filling), ...toExtent(filling) });
    return { ...request, body: Buffer.from(JSON.stringify(value)) };
  },
});

/** As much as the share of everything. */
const extentOf = (filling: Filling): Extent => ({
  items: share(filling),
  length: share(filling),
  optional: true,
  choice: 0,
  linkId: filling.linkId,
  nonce: filling.nonce,
});

const few = (most: number): number => Math.min(most, FEW);
const short = (most: number): number => Math.min(most, SHORT);

/** A body of any form, which is rejected before or after it is parsed. */
const anyBody = (reaches: readonly string[], make: (share: number) => string): Part => ({
  reaches,
  fill: (request, filling) =>
    filling.route.body === undefined
      ? request
      : { ...request, body: Buffer.from(make(filling.share)) },
});

const form: Part = {
  reaches: ["api/shares/public/routes.ts FORM_BYTES_MAX"],
  fill(request, filling) {
    if (request.method !== "POST" || filling.route.body !== undefined) return request;
    const text = repeat("password=%20&", FORM_BYTES_MAX * filling.share);
    const type = "application/x-www-form-urlencoded";
    return withHeader({ ...request, body: Buffer.from(text) }, "Content-Type", type);
  },
};

/**
 * Every parameter that the route has: few characters and many values, or few values and many
 * characters.
 */
const query = (reaches: readonly string[], isLong: boolean): Part => ({
  reaches,
  fill(request, filling) {
    const parameters = Object.entries(filling.route.parameters?.properties ?? {});
    const room = Math.floor(filling.room / Math.max(1, parameters.length)) - 30;
    const extent: Extent = {
      ...extentOf(filling),
      items: (most) => (isLong ? 1 : share(filling)(most)),
      choice: isLong ? 1 : 0,
      length: isLong ? (most) => share(filling)(Math.min(most, room)) : short,
    };
    return {
      ...request,
      query: parameters.flatMap(([name, schema]) => toQuery(name, schema, extent)),
    };
  },
});

function toQuery(name: string, schema: BodySchema, extent: Extent): [string, string][] {
  // Cursors are made by the API; dates and a period exclude each other.
  if (/^(?:starting_after|start_date|end_date|domain|page|period)$/.test(name)) return [];
  const value = fillSchema(schema, extent, name);
  const values: unknown[] = Array.isArray(value) ? value : [value];
  return values.map((one) => [name, encodeURIComponent(String(one)).replaceAll("%2C", ",")]);
}

const unknownParameters = (unit: (i: number) => string): Part => ({
  reaches: ["api/http/query.ts PARAMETERS_MAX", "api/http/errors.ts NAME_LENGTH_MAX"],
  fill(request, filling) {
    // Names that are long leave no room for as many.
    const count = Math.min(PARAMETERS_MAX, Math.floor(filling.room / (unit(0).length + 4)));
    const length = Math.max(1, Math.floor(filling.room / count) - unit(0).length - 4);
    const added = Array.from({ length: share(filling)(count) }, (_, i): [string, string] => [
      unit(i),
      repeat("x", length),
    ]);
    return { ...request, query: added };
  },
});

const headers = (
  reaches: readonly string[],
  make: (filling: Filling) => [string, string][],
): Part => ({
  reaches,
  fill: (request, filling) =>
    make(filling).reduce((one, [name, value]) => withHeader(one, name, value), request),
});

/** The first level of each group leaves the request as it is. */
export const CALL_PARTS = {
  body: {
    plain: PLAIN,
    "many values": body(SCHEMA_BOUNDS, () => ({ length: short })),
    "many values, required members": body(SCHEMA_BOUNDS, () => ({
      length: short,
      optional: false,
    })),
    "long texts": body(SCHEMA_BOUNDS, () => ({ items: few, choice: 1 })),
    "many long texts": body(SCHEMA_BOUNDS, () => ({})),
    "most values of JSON": anyBody(
      ["api/http/json-body.ts JSON_TOKENS_MAX", "api/http/errors.ts DETAILS_MAX"],
      (part) =>
        `{${Array.from({ length: ((JSON_TOKENS_MAX - 10) / 2) * part }, (_, i) => `"f${i}":1`).join()}}`,
    ),
    "most levels of JSON": anyBody(["api/http/json-body.ts JSON_DEPTH_MAX"], (part) => {
      const levels = JSON_DEPTH_MAX - 2;
      const one = "[".repeat(levels).concat("]".repeat(levels));
      return `{"url":[${Array<string>(Math.floor(600 * part))
        .fill(one)
        .join()}]}`;
    }),
    "most bytes": anyBody(
      ["api/http/json-body.ts BODY_BYTES_MAX", "shared/contracts/web-url.ts TEXT_LENGTH_MAX"],
      (part) =>
        `{"url":"https://example.com/${"a".repeat(Math.floor((BODY_BYTES_MAX - 100) * part))}"}`,
    ),
    "long authority": anyBody(
      ["shared/contracts/web-url.ts AUTHORITY_LENGTH_MAX"],
      (part) => `{"url":"https://${"\u00e9.".repeat(Math.floor(500 * part))}com/"}`,
    ),
    "long labels": anyBody(
      ["api/links/destinations.ts NAME_LENGTH_MAX", "api/links/destinations.ts LABEL_LENGTH_MAX"],
      (part) =>
        `{"url":"https://${repeat(`${"a".repeat(63)}.`, 192 * part)}${"b".repeat(50)}.com/"}`,
    ),
    "files for apps": anyBody(
      ["shared/contracts/domain-settings.ts APP_FILE_BYTES_MAX"],
      (part) => {
        const entries = `[${repeat('"a",', (APP_FILE_BYTES_MAX - 100) * part)}"a"]`;
        return `{"apple_app_site_association":{"a":${entries}},"assetlinks":${entries}}`;
      },
    ),
    form,
  },
  query: {
    plain: PLAIN,
    "many values": query(SCHEMA_BOUNDS, false),
    "long texts": query(SCHEMA_BOUNDS, true),
    "unknown parameters": unknownParameters((i) => `p${i}`.padEnd(NAME_LENGTH_MAX, "x")),
    cursor: {
      reaches: ["api/http/pagination.ts CURSOR_LENGTH_MAX"],
      fill: (request, filling) => ({
        ...request,
        query: [
          [
            "starting_after",
            repeat("eyJh", Math.min(filling.room, CURSOR_LENGTH_MAX) * filling.share),
          ],
        ],
      }),
    },
    "one name": unknownParameters(() => "a"),
  },
  headers: {
    plain: PLAIN,
    fields: headers([], (filling) =>
      Array.from({ length: share(filling)(FIELDS_MAX - 20) }, (_, i) => [`X-${i}`, "1"]),
    ),
    "idempotency key": headers(
      ["api/idempotency/idempotency.ts KEY_FORM"],
      ({ nonce, ...filling }) => [
        ["Idempotency-Key", nonce.padEnd(share({ nonce, ...filling })(KEY_LENGTH_MAX), "k")],
      ],
    ),
    "long texts": headers(["api/sessions/better-auth.ts USER_AGENT_LENGTH_MAX"], (filling) => [
      ["User-Agent", repeat("Android 1; ", (filling.room * filling.share) / 3)],
      ["Accept-Language", repeat("de;q=0.1,", (filling.room * filling.share) / 3)],
      [
        "X-Forwarded-For",
        `${repeat("127.0.0.1, ", (filling.room * filling.share) / 4)}203.0.113.9`,
      ],
    ]),
  },
} satisfies Parts;

/**
 * Whether a part changes requests of a route: without a body or parameters, its levels are all
 * alike.
 */
export const hasPart = (route: Route, group: string): boolean =>
  group === "body"
    ? route.body !== undefined || (route.method === "POST" && route.path.startsWith("/shared/"))
    : group !== "query" || route.method === "GET";
