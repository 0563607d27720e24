/** Valid requests, for generators to corrupt: each part of one can be replaced. */
import type { Random } from "../harness/random.ts";
import type { Route } from "./routes.ts";
import { type Extent, fillSchema } from "./schema-values.ts";

/** What the attackers possess in the stack. */
export type Fixtures = {
  enterpriseKey: string;
  freeKey: string;
  /** Session cookies of signed-in users. */
  cookies: readonly [string, ...string[]];
  /**
   * The cookie of a signed-out session: used for sign-out, because the other sessions are still
   * needed.
   */
  endedCookie: string;
  dashboardOrigin: string;
  linkId: string;
  /** Values of path parameters. */
  paths: Readonly<Record<string, string>>;
};

/** A request before encoding. Texts are latin1: one character is one byte. */
export type HttpRequest = {
  method: string;
  path: string;
  /** Names and values in the form they have in the URL. */
  query: [name: string, value: string][];
  version: string;
  headers: [name: string, value: string][];
  body: Buffer | undefined;
};

export type Draft = { random: Random; route: Route; fixtures: Fixtures; mark: string };

/**
 * Routes that destroy what the attack still needs; they get identifiers and cookies that do not
 * exist.
 */
const DESTRUCTIVE = /\/sign-out|\/rotate$/;

/**
 * Creates a request that is valid for the route, from a random kind of caller and a random address.
 */
export function createValidRequest(draft: Draft): HttpRequest {
  const { random, route, fixtures, mark } = draft;
  const { method, surface } = route;
  const isDestructive = method === "DELETE" || DESTRUCTIVE.test(route.path);
  const headers: [string, string][] = [["Host", "localhost"]];
  if (surface === "redirector" || surface === "api" || surface === "dashboard")
    headers.push(["X-Forwarded-For", `203.${octet(random)}.${octet(random)}.${octet(random)}`]);
  if (surface === "redirector") headers.push(["User-Agent", "Mozilla/5.0 (X11; Linux x86_64)"]);
  else headers.push(["X-Request-Id", mark]);
  if (surface === "api") {
    const key = random.pick([fixtures.enterpriseKey, fixtures.enterpriseKey, fixtures.freeKey, ""]);
    if (key !== "") headers.push(["Authorization", `Bearer ${key}`]);
  }
  if (surface === "dashboard") {
    headers.push(["Origin", fixtures.dashboardOrigin], ["Sec-Fetch-Site", "same-origin"]);
    const cookie = isDestructive ? fixtures.endedCookie : random.pick(fixtures.cookies);
    if (random.between(0, 4) > 0) headers.push(["Cookie", cookie]);
  }
  const body = createBody(draft);
  if (body !== undefined) headers.push(["Content-Type", body.type]);
  const query: [string, string][] = route.query
    .filter(() => random.between(0, 2) === 0)
    .map((name) => [name, sampleQueryValue(draft, name)]);
  if (surface === "redirector" && random.between(0, 1) === 0) query.push(["mark", mark]);
  // Looks the value up by the preceding segment and the name, as in `links/:id`, else by the name.
  const path = route.path.replaceAll(
    /(\/[\w-]+)?\/:(\w+)/g,
    (_, before: string = "", name: string) => {
      const value =
        fixtures.paths[`${before.slice(1)}/${name}`] ?? fixtures.paths[name] ?? fixtures.linkId;
      return `${before}/${isDestructive && name === "id" ? corruptId(value) : value}`;
    },
  );
  return { method, path, query, version: "HTTP/1.1", headers, body: body?.bytes };
}

const octet = (random: Random): number => random.between(1, 250);

const corruptId = (id: string): string => `${id.slice(0, -2)}00`;

function createBody(draft: Draft): { type: string; bytes: Buffer } | undefined {
  const { body, method, surface } = draft.route;
  if (body !== undefined) {
    const value = fillSchema(body, extentOf(draft));
    return { type: "application/json", bytes: Buffer.from(JSON.stringify(value)) };
  }
  if (method !== "POST") return undefined;
  if (surface === "redirector")
    return { type: "application/x-www-form-urlencoded", bytes: Buffer.from("password=no") };
  if (surface === "clickhouse")
    return { type: "text/plain", bytes: Buffer.from("SELECT 1 FORMAT JSONEachRow") };
  return undefined;
}

/** A few short values, those that may be left out only sometimes. */
const extentOf = ({ random, fixtures: { linkId } }: Draft): Extent => ({
  items: (most) => Math.min(most, random.between(1, 3)),
  length: (most) => Math.min(most, 12),
  optional: random.between(0, 1) === 0,
  choice: random.between(0, 9),
  linkId,
  nonce: `n${random.between(0, 1e9)}`,
});

/** Parameters of ClickHouse and the redirector, whose listeners have no schemas. */
const QUERY_VALUES: Readonly<Record<string, string>> = {
  query: "SELECT+1",
  default_format: "JSONEachRow",
  database: "default",
  max_threads: "1",
};

function sampleQueryValue(draft: Draft, name: string): string {
  const schema = draft.route.parameters?.properties?.[name];
  if (schema === undefined) return QUERY_VALUES[name] ?? `v${draft.random.between(0, 99)}`;
  const value = fillSchema(schema, extentOf(draft), name);
  return encodeURIComponent(String(Array.isArray(value) ? value[0] : value));
}

/** Encodes the request; adds Content-Length unless its headers already frame the body. */
export function toBytes({ method, path, query, version, headers, body }: HttpRequest): Buffer {
  const search = query.map(([name, value]) => `${name}=${value}`).join("&");
  const framed = headers.some(([name]) => /^(content-length|transfer-encoding)\s*$/i.test(name));
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  if (body !== undefined && !framed) lines.push(`Content-Length: ${body.length}`);
  const target = search === "" ? path : `${path}?${search}`;
  const head = `${method} ${target} ${version}\r\n${lines.join("\r\n")}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), body ?? Buffer.alloc(0)]);
}

/** Adds a duplicate of one field with this value to the body; parsers use the last one. */
export function withField(
  request: HttpRequest,
  { random }: Draft,
  field: string,
  value: string,
): HttpRequest {
  const valid = request.body?.toString() ?? "{}";
  const inner = random.between(0, 4) === 0 ? `[${value}]` : value;
  const name = JSON.stringify(field);
  // JSON.parse takes the last of two members with the same name.
  const text = valid === "{}" ? `{${name}:${inner}}` : `${valid.slice(0, -1)},${name}:${inner}}`;
  return { ...request, body: Buffer.from(text) };
}

export function withQuery(request: HttpRequest, name: string, value: string): HttpRequest {
  request.query.push([name, value]);
  return request;
}

/** Replaces the path's last segment, or appends one. */
export function withParameter(request: HttpRequest, value: string): HttpRequest {
  return { ...request, path: request.path.replace(/[^/]*$/, value.replaceAll("$", "%24")) };
}

/** Replaces a header, regardless of its case. */
export function withHeader(request: HttpRequest, name: string, value: string): HttpRequest {
  const others = request.headers.filter(([one]) => one.toLowerCase() !== name.toLowerCase());
  return { ...request, headers: [...others, [name, value]] };
}

/**
 * Encodes text for a URL: percent-encoded, or as raw UTF-8 without bytes that end the request line.
 */
export function encodeForUrl(random: Random, text: string): string {
  const wellFormed = text.toWellFormed();
  return random.between(0, 1) === 0
    ? encodeURIComponent(wellFormed)
    : encodeForHeader(wellFormed).replaceAll(/[ #?]/g, "+");
}

/** Encodes text as raw UTF-8 for a header, without bytes that end a line. */
export const encodeForHeader = (text: string): string =>
  Buffer.from(text.replaceAll(/[\r\n\0]/g, "")).toString("latin1");
