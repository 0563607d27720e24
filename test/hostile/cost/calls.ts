/** Calls of the API and the dashboard's API with each part at its bounds. */
import { withHeader } from "../requests.ts";
import type { BodySchema, Route } from "../routes.ts";
import { type Extent, fillSchema } from "../schema-values.ts";
import { bound } from "./bounds.ts";
import { type Filling, type Part, type Parts, PLAIN, repeat } from "./part.ts";

const JSON_BODY = "api/http/json-body.ts";
const BODY_BYTES_MAX = bound(JSON_BODY, "BODY_BYTES_MAX");
const JSON_DEPTH_MAX = bound(JSON_BODY, "JSON_DEPTH_MAX");
const JSON_TOKENS_MAX = bound(JSON_BODY, "JSON_TOKENS_MAX");
const PARAMETERS_MAX = bound("api/http/query.ts", "PARAMETERS_MAX");
const NAME_LENGTH_MAX = bound("api/http/errors.ts", "NAME_LENGTH_MAX");
const CURSOR_LENGTH_MAX = bound("api/http/pagination.ts", "CURSOR_LENGTH_MAX");
const FORM_BYTES_MAX = bound("api/shares/public/routes.ts", "FORM_BYTES_MAX");
const APP_FILE_BYTES_MAX = bound("shared/contracts/domain-settings.ts", "APP_FILE_BYTES_MAX");
const AUTHORITY_LENGTH_MAX = bound("shared/contracts/web-url.ts", "AUTHORITY_LENGTH_MAX");
/** `KEY_FORM` of api/idempotency/idempotency.ts. */
const KEY_LENGTH_MAX = 255;
/** Most fields that Bun reads. */
const FIELDS_MAX = 200;

/**
 * Characters of a text where the number of values counts, and values where the length of texts
 * does.
 */
const SHORT = 12;
const FEW = 2;

const share =
  (filling: Filling) =>
  (most: number): number =>
    Math.max(1, Math.floor(most * filling.share));

/** A body of the route's schema; without one, the request stays as it is. */
const body =
  (toExtent: (filling: Filling) => Partial<Extent>): Part =>
  (request, filling) => {
    const { body: schema } = filling.route;
    if (schema === undefined) return request;
    const value = fillSchema(schema, { ...extentOf(filling), ...toExtent(filling) });
    return { ...request, body: Buffer.from(JSON.stringify(value)) };
  };

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
const anyBody =
  (make: (share: number) => string): Part =>
  (request, filling) =>
    filling.route.body === undefined
      ? request
      : { ...request, body: Buffer.from(make(filling.share)) };

const form: Part = (request, filling) => {
  if (request.method !== "POST" || filling.route.body !== undefined) return request;
  const text = repeat("password=%20&", FORM_BYTES_MAX * filling.share);
  const type = "application/x-www-form-urlencoded";
  return withHeader({ ...request, body: Buffer.from(text) }, "Content-Type", type);
};

/**
 * Every parameter that the route has: few characters and many values, or few values and many
 * characters.
 */
const query =
  (isLong: boolean): Part =>
  (request, filling) => {
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
  };

function toQuery(name: string, schema: BodySchema, extent: Extent): [string, string][] {
  // Cursors are made by the API; dates and a period exclude each other.
  if (/^(?:starting_after|start_date|end_date|domain|page|period)$/.test(name)) return [];
  const value = fillSchema(schema, extent, name);
  const values: unknown[] = Array.isArray(value) ? value : [value];
  return values.map((one) => [name, encodeURIComponent(String(one)).replaceAll("%2C", ",")]);
}

const unknownParameters =
  (unit: (i: number) => string): Part =>
  (request, filling) => {
    // Names that are long leave no room for as many.
    const count = Math.min(PARAMETERS_MAX, Math.floor(filling.room / (unit(0).length + 4)));
    const length = Math.max(1, Math.floor(filling.room / count) - unit(0).length - 4);
    const added = Array.from({ length: share(filling)(count) }, (_, i): [string, string] => [
      unit(i),
      repeat("x", length),
    ]);
    return { ...request, query: added };
  };

const headers =
  (make: (filling: Filling) => [string, string][]): Part =>
  (request, filling) =>
    make(filling).reduce((one, [name, value]) => withHeader(one, name, value), request);

/** The first level of each group leaves the request as it is. */
export const CALL_PARTS = {
  body: {
    plain: PLAIN,
    "many values": body(() => ({ length: short })),
    "many values, required members": body(() => ({
      length: short,
      optional: false,
    })),
    "long texts": body(() => ({ items: few, choice: 1 })),
    "many long texts": body(() => ({})),
    "most values of JSON": anyBody(
      (part) =>
        `{${Array.from({ length: ((JSON_TOKENS_MAX - 10) / 2) * part }, (_, i) => `"f${i}":1`).join()}}`,
    ),
    "most levels of JSON": anyBody((part) => {
      const levels = JSON_DEPTH_MAX - 2;
      const one = "[".repeat(levels).concat("]".repeat(levels));
      return `{"url":[${Array<string>(Math.floor(600 * part))
        .fill(one)
        .join()}]}`;
    }),
    "most bytes": anyBody(
      (part) =>
        `{"url":"https://example.com/${"a".repeat(Math.floor((BODY_BYTES_MAX - 100) * part))}"}`,
    ),
    "long authority": anyBody(
      (part) => `{"url":"https://${repeat("\u00e9.", (AUTHORITY_LENGTH_MAX - 24) * part)}com/"}`,
    ),
    "long labels": anyBody(
      (part) =>
        `{"url":"https://${repeat(`${"a".repeat(63)}.`, 192 * part)}${"b".repeat(50)}.com/"}`,
    ),
    "files for apps": anyBody((part) => {
      const entries = `[${repeat('"a",', (APP_FILE_BYTES_MAX - 100) * part)}"a"]`;
      return `{"apple_app_site_association":{"a":${entries}},"assetlinks":${entries}}`;
    }),
    form,
  },
  query: {
    plain: PLAIN,
    "many values": query(false),
    "long texts": query(true),
    "unknown parameters": unknownParameters((i) => `p${i}`.padEnd(NAME_LENGTH_MAX, "x")),
    cursor: (request, { room, share: part }) => ({
      ...request,
      query: [["starting_after", repeat("eyJh", Math.min(room, CURSOR_LENGTH_MAX) * part)]],
    }),
    "one name": unknownParameters(() => "a"),
  },
  headers: {
    plain: PLAIN,
    fields: headers((filling) =>
      Array.from({ length: share(filling)(FIELDS_MAX - 20) }, (_, i) => [`X-${i}`, "1"]),
    ),
    "idempotency key": headers(({ nonce, ...filling }) => [
      ["Idempotency-Key", nonce.padEnd(share({ nonce, ...filling })(KEY_LENGTH_MAX), "k")],
    ]),
    "long texts": headers((filling) => [
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
