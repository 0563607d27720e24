/** Valid requests, for generators to corrupt: each part of one can be replaced. */
import type { Random } from "../harness/random.ts";
import type { BodySchema, Route } from "./routes.ts";

/** What the attackers possess in the stack. */
export type Fixtures = {
  enterpriseKey: string;
  freeKey: string;
  account: string;
  /** Session cookies of signed-in users. */
  cookies: readonly [string, ...string[]];
  /**
   * The cookie of a signed-out session: used for sign-out, because the other sessions are still
   * needed.
   */
  endedCookie: string;
  dashboardOrigin: string;
  clickhouse: Readonly<Record<string, string>>;
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
  if (surface === "clickhouse") headers.push(...Object.entries(fixtures.clickhouse));
  const body = createBody(draft);
  if (body !== undefined) headers.push(["Content-Type", body.type]);
  const query: [string, string][] = route.query
    .filter(() => random.between(0, 2) === 0)
    .map((name) => [name, sampleQueryValue(random, name)]);
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

function createBody({
  random,
  route,
  fixtures,
}: Draft): { type: string; bytes: Buffer } | undefined {
  if (route.body !== undefined) {
    const value = sampleValue(route.body, { random, fixtures, root: route.body });
    return { type: "application/json", bytes: Buffer.from(JSON.stringify(value)) };
  }
  if (route.method !== "POST") return undefined;
  if (route.surface === "redirector")
    return { type: "application/x-www-form-urlencoded", bytes: Buffer.from("password=no") };
  if (route.surface === "clickhouse")
    return { type: "text/plain", bytes: Buffer.from("SELECT 1 FORMAT JSONEachRow") };
  return undefined;
}

type SampleContext = { random: Random; fixtures: Fixtures; root: BodySchema; name?: string };

/** Returns a value that fits the schema, judging by names and types. */
function sampleValue(schema: BodySchema, context: SampleContext): unknown {
  const { random, fixtures, root, name = "" } = context;
  const { $ref, anyOf, type, properties, items, required = [] } = schema;
  const named = root.$defs?.[$ref?.split("/").at(-1) ?? ""];
  if (named !== undefined) return sampleValue(named, context);
  if (anyOf?.[0] !== undefined) return sampleValue(anyOf[0], context);
  if (schema.enum !== undefined) return schema.enum[random.between(0, schema.enum.length - 1)];
  switch (type) {
    case "object":
      return Object.fromEntries(
        Object.entries(properties ?? {})
          // Passwords are rare here: hashing them is slow, and its rate is limited elsewhere.
          .filter(
            ([key]) =>
              required.includes(key) || random.between(0, key === "password" ? 20 : 2) === 0,
          )
          .map(([key, value]) => [key, sampleValue(value, { ...context, name: key })]),
      );
    case "array":
      return Array.from({ length: random.between(1, 3) }, () => sampleValue(items ?? {}, context));
    case "integer":
    case "number":
      return 1;
    case "boolean":
      return random.between(0, 1) === 1;
    default:
      return sampleText(name, random, fixtures);
  }
}

function sampleText(name: string, random: Random, { linkId }: Fixtures): string {
  const texts: Readonly<Record<string, string>> = {
    url: "https://example.com/a?b=c",
    email: `nobody-${random.between(0, 1e6)}@example.com`,
    domain: `d${random.between(0, 1e6)}.example.com`,
    alias: `attack-${random.between(0, 1e9)}`,
    link_ids: linkId,
    expires_at: "2090-01-01T00:00:00Z",
    start_date: "2026-10-01",
    end_date: "2026-10-01",
    timezone: "Europe/Berlin",
  };
  return texts[name] ?? "plain text";
}

const QUERY_VALUES: Readonly<Record<string, string>> = {
  period: "7d",
  timezone: "Europe/Berlin",
  start_date: "2026-10-01",
  end_date: "2026-10-02",
  page: "1",
  limit: "10",
  sort: "created_at",
  order: "desc",
  group_by: "country",
  format: "svg",
  size: "200",
  margin: "2",
  error_correction: "M",
  query: "SELECT+1",
  default_format: "JSONEachRow",
  database: "default",
  max_threads: "1",
};

const sampleQueryValue = (random: Random, name: string): string =>
  QUERY_VALUES[name] ?? `v${random.between(0, 99)}`;

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
