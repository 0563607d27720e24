/** Visitors' requests with each part at its bounds. */
import { type HttpRequest, withHeader } from "../requests.ts";
import { bound } from "./bounds.ts";
import { type Part, type Parts, PLAIN, repeat } from "./part.ts";

const HEADERS = "redirector/http/header-fields.ts";
/** A bound that includes a port. */
const HOST_LENGTH_MAX = bound(HEADERS, "HOST_LENGTH_MAX") - ":65535".length - 1;
const CONNECTION_BYTES_MAX = bound(HEADERS, "CONNECTION_BYTES_MAX");
const PURPOSE_BYTES_MAX = bound(HEADERS, "PURPOSE_BYTES_MAX");
const FIELDS_MAX = bound("redirector/http/request-head-parser.ts", "FIELDS_MAX");
const FRAMING_BYTES_MAX = bound("redirector/http/body.ts", "FRAMING_BYTES_MAX");
const FORM_BYTES_MAX = bound("redirector/passwords/password.ts", "FORM_BYTES_MAX");
/** Parameters beside those of the generator itself. */
const FORWARDED_MAX = bound("redirector/redirect/forwarding.ts", "PARAMETERS_MAX") - 3;
const AGENT_LENGTH_MAX = bound("shared/visitors/user-agent.ts", "AGENT_LENGTH_MAX");
const PATH_LENGTH_MAX = bound("shared/visitors/referrer.ts", "PATH_LENGTH_MAX");
const PROXIES_MAX = bound("shared/client-address.ts", "PROXIES_MAX");
const ENTRY_LENGTH_MAX = bound("shared/client-address.ts", "ENTRY_LENGTH_MAX");
const UTM_LENGTH_MAX = bound("worker/enrich/rows.ts", "UTM_LENGTH_MAX");
const RULES = "shared/contracts/link-rules.ts";
const RULES_MAX = bound(RULES, "RULES_MAX");
const CONDITIONS_MAX = bound(RULES, "CONDITIONS_MAX");
const VALUES_MAX = bound(RULES, "VALUES_MAX");
const LINK_VALUES_MAX = bound(RULES, "LINK_VALUES_MAX");
const ARMS_MAX = bound("shared/contracts/link-settings.ts", "ARMS_MAX");

/** A header with a text of some length. */
const header =
  (
    name: string,
    text: (most: number, nonce: string) => string,
    most = Number.POSITIVE_INFINITY,
  ): Part =>
  (request, { share, room, nonce }) =>
    withHeader(request, name, text(Math.floor(Math.min(most, room) * share), nonce));

/** A query of repeated parameters, of which there are up to `most`. */
const query =
  (unit: string, most = Number.POSITIVE_INFINITY): Part =>
  (request, { share, room, nonce }) => ({
    ...request,
    query: [[`${nonce}&${repeat(unit, Math.min(room, most * unit.length) * share)}x`, ""]],
  });

const longUtm: Part = (request, { share, nonce }) => ({
  ...request,
  query: [["utm_campaign", nonce.padEnd(Math.floor(UTM_LENGTH_MAX * share), "x")]],
});

const agent = (unit: string, most?: number): Part =>
  header(
    "User-Agent",
    (length, nonce) => `Mozilla/5.0 (${nonce}) ${repeat(unit, length - 40)}`,
    most,
  );

const referrer = (host: string, path: string, most?: number): Part =>
  header(
    "Referer",
    (length, nonce) => `https://${nonce}.${host}/${repeat(path, length - host.length)}`,
    most,
  );

const language = (unit: string): Part =>
  header("Accept-Language", (length, nonce) => `de-${nonce},${repeat(unit, length)}`);

/** As trusted proxies append them: the visitor's own address comes first, and is read last. */
const forwarded =
  (entry: string): Part =>
  (request, { share }) => {
    const visitor = request.headers.find(([name]) => name === "X-Forwarded-For")?.[1] ?? "";
    const proxies = Array<string>(Math.floor((PROXIES_MAX - 1) * share)).fill(entry);
    return withHeader(request, "X-Forwarded-For", [visitor, ...proxies].join(", "));
  };

const fields =
  (unit: string): Part =>
  (request, { share, room }) => {
    const count = Math.floor((FIELDS_MAX - request.headers.length - 2) * share);
    const value = repeat(unit, Math.max(1, room / FIELDS_MAX - 10));
    const added = Array.from({ length: count }, (_, i): [string, string] => [`X-${i}`, value]);
    return { ...request, headers: [...request.headers, ...added] };
  };

/** Less than `OTHER_SCRIPT_LENGTH_MAX`; the label has 63 characters in ASCII at most. */
const OTHER_SCRIPT_LENGTH = 52;

/** A path that continues after the alias. */
const beyond =
  (unit: string): Part =>
  (request, { share, room }) => ({
    ...request,
    path: request.path + repeat(unit, room * share),
  });

const form =
  (framing: "length" | "chunks"): Part =>
  (request, { share }) => {
    const known = "password=a+password&";
    const bytes = Buffer.from(known + repeat("a=%20&", FORM_BYTES_MAX * share - known.length));
    if (request.method !== "POST") return request;
    if (framing === "length") return { ...request, body: bytes };
    return {
      ...withHeader(request, "Transfer-Encoding", "chunked"),
      body: toChunks(bytes, Math.floor(FRAMING_BYTES_MAX * share) - 100),
    };
  };

/** One byte in each chunk, with extensions as long as there is room for. */
function toChunks(bytes: Buffer, framing: number): Buffer {
  const count = Math.min(bytes.length, Math.floor(framing / 8));
  const extension = `;${"x".repeat(Math.max(1, Math.floor(framing / count) - 7))}`;
  const chunks = Array.from({ length: count }, (_, i) => [
    `1${extension}\r\n`,
    bytes.subarray(i, i + 1),
    "\r\n",
  ]).flat();
  return Buffer.concat([...chunks, "0\r\n\r\n"].map((part) => Buffer.from(part)));
}

/**
 * What leaves a request one for the same link. The first level of each group leaves it as it is.
 */
export const VISITOR_PARTS = {
  query: {
    plain: PLAIN,
    "many parameters": query("a&"),
    "as many as are forwarded": query("a=%20&", FORWARDED_MAX),
    "one long value": query("x"),
    "escapes that are not UTF-8": query("%ff"),
    "UTM parameters": query("utm_source=a&utm_term=%C3%A9&"),
    "a long UTM parameter": longUtm,
  },
  agent: {
    plain: PLAIN,
    words: agent("Ab/1 ", AGENT_LENGTH_MAX),
    Androids: agent("Android 1; ", AGENT_LENGTH_MAX),
    long: agent("(KHTML, like Gecko) "),
  },
  referrer: {
    plain: PLAIN,
    "long host and path": referrer(
      repeat("a.", HOST_LENGTH_MAX - 40).concat("com"),
      "a/",
      HOST_LENGTH_MAX + PATH_LENGTH_MAX,
    ),
    "other script": referrer("\xc3\xa9".repeat(OTHER_SCRIPT_LENGTH).concat(".com"), "%C3%A9"),
  },
  language: { plain: PLAIN, entries: language("en;q=0.1,"), parameters: language("de;a;b;c;d,") },
  address: {
    plain: PLAIN,
    proxies: forwarded("127.0.0.1"),
    "long entries": forwarded("::ffff:127.0.0.1".padEnd(ENTRY_LENGTH_MAX)),
  },
  fields: {
    plain: PLAIN,
    many: fields("1"),
    connection: header(
      "Connection",
      (length) => repeat("a,", length).slice(0, -1),
      CONNECTION_BYTES_MAX,
    ),
    purpose: header("Sec-Purpose", (length) => repeat("pre;", length), PURPOSE_BYTES_MAX),
  },
} satisfies Parts;

const host = header(
  "Host",
  (length, nonce) => `${nonce}.${repeat("a.", length - nonce.length - 5)}com`,
  HOST_LENGTH_MAX,
);

/** `+` after the alias. */
const aboutPage: Part = (request) => ({ ...request, path: `${request.path}+` });

/** A path of characters that aliases have, or of segments: each may be the end of an alias. */
const aliasLike =
  (unit: string): Part =>
  (request, { share, room, nonce }) => ({
    ...request,
    path: `/${nonce}${repeat(unit, room * share)}`,
  });

/** A link, and the kinds of its visits: each a part that is always filled. */
export type VisitedLink = {
  alias: string;
  method: HttpRequest["method"];
  body: object;
  visits: Readonly<Record<string, Part>>;
};

const LONG_URL = "https://example.com/".padEnd(8_000, "a/");

type Condition = Record<string, unknown>;

/**
 * As many rules as a link may have; no visitor's request matches the last condition of any, so that
 * all conditions are looked at.
 */
function createRules(conditions: readonly Condition[]): object[] {
  const at = (i: number): Condition => conditions[i % conditions.length] ?? {};
  return Array.from({ length: RULES_MAX }, (_, i) => ({
    url: "https://example.com/rule",
    conditions: Array.from({ length: CONDITIONS_MAX }, (__, j) =>
      j === CONDITIONS_MAX - 1
        ? { type: "query", name: "never", in: ["never"] }
        : { ...at(i * 9 + j), not: true },
    ),
  }));
}

/**
 * Rules whose one condition has as many values as a condition may have, and all together as many as
 * a link may have.
 */
const createListRules = (): object[] =>
  Array.from({ length: LINK_VALUES_MAX / VALUES_MAX - 1 }, (_, i) => ({
    url: "https://example.com/rule",
    conditions: [
      {
        type: "ip",
        in: Array.from({ length: VALUES_MAX }, (__, j) => `2001:db8:${i}:${j.toString(16)}::/64`),
      },
    ],
  }));

const link = (
  alias: string,
  body: object,
  visits: VisitedLink["visits"] = { plain: PLAIN },
  method = "GET",
): VisitedLink => ({
  alias: `cost-${alias}`,
  method,
  body: { url: "https://example.com/", ...body },
  visits,
});

/** The alias of the link with conditions of all kinds. */
export const LINK_WITH_ALL = "cost-rules-all";

/**
 * One link for each kind of condition, one with all kinds, and the others that have code of their
 * own.
 */
export function listLinks(conditions: readonly Condition[]): VisitedLink[] {
  return [
    link(
      "plain",
      {},
      {
        plain: PLAIN,
        "unknown host": host,
        "unknown alias": aliasLike("%61"),
        "path of emoji": aliasLike("%F0%9F%91%8D%F0%9F%8F%BD"),
        "path of marks": aliasLike("%CC%A3%CC%81"),
        "path of segments": aliasLike("/a"),
      },
    ),
    link("long", { url: LONG_URL, utm_source: "a".repeat(255) }, { about: aboutPage }),
    link(
      "forwarding",
      { forward_query: true, forward_path: "append" },
      { plain: PLAIN, "long path": beyond("/a"), "path that is not UTF-8": beyond("/%C3%A9%ff") },
    ),
    link("utm", { utm_source: "a".repeat(255), forward_query: true }),
    link(
      "form",
      { password: "a password" },
      { "form with a length": form("length"), "form in chunks": form("chunks") },
      "POST",
    ),
    link("confirm", { url: LONG_URL, confirm: true, max_clicks: 1_000_000, limit_counts: "human" }),
    link("preview", {
      preview: { title: "<".repeat(255), description: "&".repeat(1_000), image: LONG_URL },
    }),
    link("split", {
      split: {
        arms: Array.from({ length: ARMS_MAX }, (_, i) => ({
          url: `https://example.com/${i}`,
          weight: 9,
        })),
      },
    }),
    ...conditions.map((condition) =>
      link(`rules-${String(condition["type"])}`, { rules: createRules([condition]) }),
    ),
    link("rules-values", { rules: createListRules() }),
    link("rules-all", { rules: createRules(conditions), forward_query: true }),
  ];
}
