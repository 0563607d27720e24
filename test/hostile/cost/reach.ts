/**
 * How far an input goes towards each bound that its part says it reaches: the proof that generators
 * do what they say. Each measure counts, in a filled request, what the bound limits.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { PROJECT_DIR } from "../../harness/stack.ts";
import { type HttpRequest, toBytes } from "../requests.ts";
import { CALL_PARTS, SCHEMA_BOUNDS } from "./calls.ts";
import type { Parts } from "./part.ts";
import { LINK_BOUNDS, VISITOR_PARTS } from "./visitors.ts";

type Measure = (request: HttpRequest) => number;

const most = (values: Iterable<number>): number => Math.max(0, ...values);

const header =
  (name: string) =>
  ({ headers }: HttpRequest): string =>
    headers.find(([one]) => one.toLowerCase() === name)?.[1] ?? "";

const lengthOf =
  (name: string): Measure =>
  (request) =>
    header(name)(request).length;

const search = ({ query }: HttpRequest): string =>
  query.map(([name, value]) => `${name}=${value}`).join("&");

const parameters: Measure = (request) => search(request).split("&").length;

/** The values of a body: every member and element, with the name of the member that it is in. */
function* walkJson(value: unknown, name: string): Generator<{ name: string; value: unknown }> {
  yield { name, value };
  if (Array.isArray(value)) for (const one of value) yield* walkJson(one, name);
  else if (typeof value === "object" && value !== null)
    for (const [key, one] of Object.entries(value)) yield* walkJson(one, key);
}

function* values(request: HttpRequest): Generator<{ name: string; value: unknown }> {
  for (const [name, value] of request.query) yield { name, value: decode(value) };
  const text = request.body?.toString() ?? "";
  if (/^[[{]/.test(text)) yield* walkJson(JSON.parse(text), "");
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The longest text of a member or parameter; the measure of a bound on its characters. */
const longest =
  (...names: readonly string[]): Measure =>
  (request) =>
    most(
      values(request)
        .filter(({ name, value }) => names.includes(name) && typeof value === "string")
        .map(({ value }) => String(value).length),
    );

/** The greatest number of a member or parameter. */
const greatest =
  (name: string): Measure =>
  (request) =>
    most(
      values(request)
        .filter((one) => one.name === name)
        .map(({ value }) => Number(value)),
    );

/** The longest list of a member. */
const longestList =
  (...names: readonly string[]): Measure =>
  (request) =>
    most(
      values(request)
        .filter(({ name }) => names.includes(name))
        .map(({ value }) => (Array.isArray(value) ? value.length : 0)),
    );

const bodyBytes: Measure = ({ body }) => body?.length ?? 0;

/** Levels of arrays and objects in a body. */
const depth: Measure = ({ body }) => {
  let [level, deepest] = [0, 0];
  for (const byte of body ?? []) {
    if (byte === 0x5b || byte === 0x7b) deepest = Math.max(deepest, ++level);
    else if (byte === 0x5d || byte === 0x7d) level--;
  }
  return deepest;
};

/** Values and names in a body. */
const tokens: Measure = (request) => {
  let count = 0;
  for (const { value } of values({ ...request, query: [] })) {
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    count += 1 + (isObject ? Object.keys(value).length : 0);
  }
  return count;
};

const authority = (text: string): string => /^https?:\/\/([^/?#]*)/.exec(text)?.[1] ?? "";

/** The hosts of a body's URLs in ASCII. */
const hosts = (request: HttpRequest): string[] =>
  values(request)
    .filter(({ name }) => name === "url")
    .map(({ value }) => URL.parse(String(value))?.hostname ?? "")
    .toArray();

const entries =
  (name: string, separator: string): Measure =>
  (request) =>
    header(name)(request).split(separator).length;

/** Values of all conditions of a link. */
const conditionValues: Measure = (request) =>
  [...values(request)].filter(({ name, value }) => name === "in" && typeof value === "string")
    .length;

/** The name of a condition on the query. */
const queryName = (value: unknown): string =>
  typeof value === "object" &&
  value !== null &&
  "type" in value &&
  value.type === "query" &&
  "name" in value
    ? String(value.name)
    : "";

const FILTERS =
  /^(?:country|region|city|continent|device|browser|os|referrer|referrer_path|language|host|trigger|imported|utm_\w+|tag|domain|class)$/;

const filterValues: Measure = ({ query }) =>
  query
    .filter(([name]) => FILTERS.test(name))
    .reduce((sum, [, value]) => sum + value.split(",").length, 0);

const agentText = (request: HttpRequest): string => header("user-agent")(request).slice(0, 500);

const referrerUrl = (request: HttpRequest): URL | null => URL.parse(header("referer")(request));

/** Bytes of a chunked body beside its content. */
const framing: Measure = ({ headers, body }) =>
  headers.some(([name]) => name === "Transfer-Encoding") ? (body?.length ?? 0) : 0;

const isForm = (request: HttpRequest): boolean =>
  header("content-type")(request) === "application/x-www-form-urlencoded";

const formBytes: Measure = (request) =>
  isForm(request) && framing(request) === 0 ? bodyBytes(request) : 0;

/** Where the header of a PNG file has the width and the height. */
const [PNG_WIDTH_AT, PNG_HEIGHT_AT, PNG_HEADER_BYTES] = [16, 20, 24];

/** Pixels of the largest PNG image in Base64. */
const pixels: Measure = (request) =>
  most(
    [...values(request)]
      .filter(({ name }) => name === "logo")
      .map(({ value }) => Buffer.from(String(value), "base64"))
      .filter(({ length }) => length >= PNG_HEADER_BYTES)
      .map((image) => image.readUInt32BE(PNG_WIDTH_AT) * image.readUInt32BE(PNG_HEIGHT_AT)),
  );

/** By the name of the bound: its file and constant. */
export const MEASURES: Readonly<Record<string, Measure>> = {
  "redirector/http/request-head-parser.ts HEAD_BYTES_MAX": (request) =>
    toBytes({ ...request, body: undefined }).length,
  "redirector/http/request-head-parser.ts FIELDS_MAX": ({ headers }) => headers.length,
  "redirector/http/header-fields.ts CONNECTION_BYTES_MAX": lengthOf("connection"),
  "redirector/http/header-fields.ts PURPOSE_BYTES_MAX": lengthOf("sec-purpose"),
  "redirector/http/header-fields.ts HOST_LENGTH_MAX": lengthOf("host"),
  "redirector/http/body.ts FRAMING_BYTES_MAX": framing,
  "redirector/passwords/password.ts FORM_BYTES_MAX": formBytes,
  "redirector/redirect/forwarding.ts LOCATION_BYTES_MAX": (request) =>
    Math.max(search(request).length, request.path.length),
  "redirector/redirect/forwarding.ts PARAMETERS_MAX": parameters,
  "redirector/pages/about-page.ts SHOWN_LENGTH_MAX": longest("url"),
  "redirector/cache/hash-index.ts KEY_BYTES_MAX": ({ path }) => decode(path).length,
  "redirector/redirect/beyond-alias.ts EXAMINED_LENGTH_MAX": ({ path }) => path.length,
  "shared/decision/facts.ts PARAMETERS_MAX": parameters,
  "shared/decision/language.ts ENTRIES_MAX": entries("accept-language", ","),
  "shared/decision/language.ts PARAMETERS_MAX": (request) =>
    most(
      header("accept-language")(request)
        .split(",")
        .map((entry) => entry.split(";").length - 1),
    ),
  "shared/languages/catalogues.ts HEADER_LENGTH_MAX": lengthOf("accept-language"),
  "shared/client-address.ts PROXIES_MAX": entries("x-forwarded-for", ","),
  "shared/client-address.ts ENTRY_LENGTH_MAX": (request) =>
    most(
      header("x-forwarded-for")(request)
        .split(",")
        .map(({ length }) => length),
    ),
  "shared/contracts/click-text.ts CLICK_TEXT_BYTES_MAX": (request) => search(request).length,
  "worker/enrich/rows.ts UTM_LENGTH_MAX": (request) =>
    most([...new URLSearchParams(search(request))].map(([, value]) => value.length)),
  "shared/visitors/user-agent.ts AGENT_LENGTH_MAX": lengthOf("user-agent"),
  "shared/visitors/user-agent.ts WORDS_MAX": (request) => agentText(request).split(" ").length,
  "shared/visitors/user-agent.ts ANDROIDS_MAX": (request) =>
    agentText(request).split(/droid/i).length - 1,
  "shared/visitors/referrer.ts AUTHORITY_LENGTH_MAX": (request) =>
    authority(header("referer")(request)).length,
  "shared/visitors/referrer.ts OTHER_SCRIPT_LENGTH_MAX": (request) =>
    Buffer.from(authority(header("referer")(request)), "latin1")
      .toString()
      .replaceAll(/[\0-\x7f]/g, "").length,
  "shared/visitors/referrer.ts PATH_LENGTH_MAX": (request) =>
    referrerUrl(request)?.pathname.length ?? 0,
  "shared/contracts/link-rules.ts RULES_MAX": longestList("rules"),
  "shared/contracts/link-rules.ts CONDITIONS_MAX": longestList("conditions"),
  "shared/contracts/link-rules.ts VALUES_MAX": longestList("in"),
  "shared/contracts/link-rules.ts LINK_VALUES_MAX": conditionValues,
  "shared/contracts/link-rules.ts NAME_LENGTH_MAX": (request) =>
    most(values(request).map(({ value }) => queryName(value).length)),
  "shared/contracts/link-rules.ts VALUE_LENGTH_MAX": longest("in"),
  "shared/contracts/link-settings.ts ARMS_MAX": longestList("arms"),
  "shared/contracts/link-settings.ts TITLE_LENGTH_MAX": longest("title"),
  "shared/contracts/link-settings.ts DESCRIPTION_LENGTH_MAX": longest("description"),
  "shared/contracts/link-record.ts LINK_RECORD_BYTES_MAX": bodyBytes,
  "shared/contracts/web-url.ts URL_LENGTH_MAX": longest("url"),
  "shared/contracts/web-url.ts TEXT_LENGTH_MAX": longest("url"),
  "shared/contracts/web-url.ts AUTHORITY_LENGTH_MAX": (request) =>
    most(
      values(request)
        .filter(({ name }) => name === "url")
        .map(({ value }) => authority(String(value)).length),
    ),
  "shared/contracts/link-schemas.ts TAGS_MAX": longestList("tags"),
  "shared/contracts/link-schemas.ts TAG_LENGTH_MAX": longest("tags"),
  "shared/contracts/link-schemas.ts TITLE_LENGTH_MAX": longest("title"),
  "shared/contracts/link-schemas.ts UTM_LENGTH_MAX": longest("utm_source"),
  "shared/contracts/link-schemas.ts BULK_LINKS_MAX": longestList("links"),
  "shared/contracts/key-schemas.ts KEY_NAME_LENGTH_MAX": longest("name"),
  "shared/contracts/share-schemas.ts NAME_LENGTH_MAX": longest("name"),
  "shared/contracts/share-schemas.ts BREAKDOWNS_MAX": longestList("breakdowns"),
  "shared/contracts/users.ts PERSON_NAME_LENGTH_MAX": longest("name"),
  "shared/contracts/users.ts PASSWORD_LENGTH": longest("password"),
  "shared/contracts/domain-settings.ts APP_FILE_BYTES_MAX": (request) =>
    most(
      values(request)
        .filter(({ name }) => name === "assetlinks")
        .map(({ value }) => JSON.stringify(value).length),
    ),
  "shared/contracts/share-schemas.ts BRAND_NAME_LENGTH_MAX": longest("name"),
  "shared/contracts/view-schemas.ts QUERY_LENGTH_MAX": longest("query"),
  "shared/contracts/webhook-schemas.ts WEBHOOK_NAMES_MAX": longestList("events", "domains"),
  "shared/contracts/qr-style.ts MARGIN_MAX": greatest("margin"),
  "api/branding/service.ts PIXELS_MAX": pixels,
  "api/shares/model.ts EMBED_ORIGINS_MAX": longestList("embed_origins"),
  "api/shares/public/routes.ts FORM_BYTES_MAX": formBytes,
  "api/links/explain.ts HEADER_LENGTH_MAX": longest("user_agent"),
  "api/links/model.ts URL_LENGTH_MAX": longest("url"),
  "api/links/model.ts SEARCH_LENGTH_MAX": longest("search"),
  "api/links/destinations.ts NAME_LENGTH_MAX": (request) =>
    most(hosts(request).map(({ length }) => length)),
  "api/links/destinations.ts LABEL_LENGTH_MAX": (request) =>
    most(hosts(request).flatMap((host) => host.split(".").map(({ length }) => length))),
  "api/http/query.ts FILTER_VALUES_MAX": filterValues,
  "api/http/query.ts FILTER_VALUE_LENGTH_MAX": longest("city", "referrer_path"),
  "api/analytics/model.ts DIMENSIONS_MAX": (request) =>
    most(
      values(request)
        .filter(({ name }) => name === "by")
        .map(({ value }) => String(value).split(",").length),
    ),
  "api/analytics/model.ts LINKS_MAX": longestList("link_ids"),
  "api/http/json-body.ts BODY_BYTES_MAX": bodyBytes,
  "api/http/json-body.ts JSON_DEPTH_MAX": depth,
  "api/http/json-body.ts JSON_TOKENS_MAX": tokens,
  // Each unknown member is a problem.
  "api/http/errors.ts DETAILS_MAX": tokens,
  "api/http/query.ts PARAMETERS_MAX": parameters,
  "api/http/errors.ts NAME_LENGTH_MAX": ({ query }) => most(query.map(([name]) => name.length)),
  "api/http/pagination.ts CURSOR_LENGTH_MAX": longest("starting_after"),
  "api/idempotency/idempotency.ts KEY_FORM": lengthOf("idempotency-key"),
  "api/sessions/better-auth.ts USER_AGENT_LENGTH_MAX": lengthOf("user-agent"),
};

/** Bounds whose definition is not a sum or product of numbers. */
const OTHER_VALUES: Readonly<Record<string, number>> = {
  "shared/contracts/click-text.ts CLICK_TEXT_BYTES_MAX": 512,
  "shared/contracts/users.ts PASSWORD_LENGTH": 128,
  "api/idempotency/idempotency.ts KEY_FORM": 255,
  "shared/contracts/web-url.ts TEXT_LENGTH_MAX": 4 * 8_192,
};

/** The value of a bound; NaN if it is unknown. */
export const valueOf = (name: string): number =>
  OTHER_VALUES[name] ?? evaluate(readBound(name) ?? "");

/** Evaluates sums and products of numbers such as `16 * 1024`; NaN for anything else. */
const evaluate = (expression: string): number =>
  expression
    .split("+")
    .map((term) =>
      term
        .split("*")
        .reduce((product, factor) => product * Number(factor.replaceAll("_", "").trim()), 1),
    )
    .reduce((sum, term) => sum + term, 0);

/**
 * The expression that a bound is defined by, e.g. `16 * 1024` of
 * `redirector/http/request-head-parser.ts HEAD_BYTES_MAX`; undefined if the file has no such
 * constant.
 */
export function readBound(name: string): string | undefined {
  const [file = "", constant = ""] = name.split(" ");
  const text = readFileSync(join(PROJECT_DIR, file), "utf8");
  return new RegExp(String.raw`\bconst ${constant} = ([^;]+);`).exec(text)?.[1];
}

/** Which bounds on input the generators of the cost guard reach. */
const listReached = (parts: Parts): string[] =>
  Object.values(parts).flatMap((levels) => Object.values(levels).flatMap(({ reaches }) => reaches));

export const REACHED_BOUNDS: ReadonlySet<string> = new Set([
  ...listReached(VISITOR_PARTS),
  ...listReached(CALL_PARTS),
  ...SCHEMA_BOUNDS,
  ...LINK_BOUNDS,
]);
