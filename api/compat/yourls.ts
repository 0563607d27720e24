/**
 * The API of YOURLS 1.9, `/yourls-api.php`: parameters in the query or a form, responses in XML,
 * JSON or as plain text (https://docs.yourls.org/guide/advanced/api).
 */
import * as z from "zod";

import { accountResponse } from "../analytics/responses.ts";
import { ApiError, invalidField } from "../http/errors.ts";
import { readBody } from "../http/json-body.ts";
import { readQuery } from "../http/query.ts";
import { linkListResponse, linkResponse } from "../links/responses.ts";
import { type CompatibleApi, type CompatResponse, type Failure, toJson, type V1 } from "./v1.ts";

const PATH = "/yourls-api.php";

/** The versions of YOURLS and of its tables whose responses these are. */
const VERSION = "1.9.2";
const DB_VERSION = "507";

/** Maximum bytes of a form, which is read before the key that is in it. */
const FORM_BYTES_MAX = 64 * 1024;

/** Maximum fields of a form: without a bound, parsing it costs more than reading it. */
const FIELDS_MAX = 200;

/** Maximum links in one response. */
const LINKS_MAX = 100;

/** Parameters that are not blank. */
type Fields = ReadonlyMap<string, string>;

/** The content of a response; `simple` is the plain text of it. */
type Result = { statusCode: number; simple: string } & Record<string, unknown>;

export const yourls: CompatibleApi = {
  serves: (path) => path === PATH,

  async respond(v1) {
    let fields: Fields = new Map(v1.url.searchParams);
    try {
      fields = await readFields(v1.request);
      v1.authorize(readKey(fields));
      const act = ACTIONS.get(fields.get("action") ?? "");
      if (act === undefined)
        throw new ApiError("invalid_request", 'Unknown or missing "action" parameter.');
      return toResponse(fields, await act(v1, fields));
    } catch (error) {
      return toResponse(fields, toFailed(fields, await v1.explain(error)));
    }
  },
};

/** The parameters of a request; of those with the same name the last one counts, as in PHP. */
async function readFields(request: Request): Promise<Fields> {
  const { method, url, headers } = request;
  if (!["GET", "HEAD", "POST"].includes(method))
    throw new ApiError("method_not_allowed", "This API takes GET, POST.");
  const fields = new Map<string, string>();
  for (const [name, values] of Object.entries(readQuery(url)))
    fields.set(name, [values].flat().at(-1) ?? "");
  const bytes = await readBody(request, FORM_BYTES_MAX);
  if (bytes.length > 0) {
    requireFewFields(bytes);
    const type = headers.get("content-type") ?? "";
    const form = new Response(bytes, { headers: { "content-type": type } });
    const sent = await form.formData().catch((cause: unknown) => {
      throw new ApiError("invalid_request", "The body is not a form.", { cause });
    });
    for (const [name, value] of sent) if (typeof value === "string") fields.set(name, value);
  }
  return new Map([...fields].filter(([, value]) => value.trim() !== ""));
}

const AMPERSAND = 0x26;

/** Throws for a form of many fields before it is parsed, also if they have one name. */
function requireFewFields(bytes: Uint8Array): void {
  let separators = 0;
  for (const byte of bytes) if (byte === AMPERSAND) separators++;
  if (separators >= FIELDS_MAX)
    throw new ApiError("invalid_request", `The form has too many fields: ${FIELDS_MAX} at most.`);
}

/** The API key, as a signature or as a password. */
function readKey(fields: Fields): string | undefined {
  if (fields.get("format") === "jsonp") {
    const message = "JSONP is off: it would make the key a part of a page. Use format=json.";
    throw new ApiError("invalid_request", message, { param: "format" });
  }
  if (fields.has("timestamp") || fields.has("hash")) {
    const message =
      "A signature with a timestamp or a hash cannot be checked: only a hash of the API key is stored. Send the key itself as signature, by HTTPS.";
    throw new ApiError("unauthorized", message, { param: "timestamp" });
  }
  return fields.get("signature") ?? fields.get("password");
}

const ACTIONS: ReadonlyMap<string, (v1: V1, fields: Fields) => Promise<Result>> = new Map([
  ["shorturl", shorten],
  ["expand", expand],
  ["url-stats", readLinkStats],
  ["stats", listLinkStats],
  ["db-stats", readTotals],
  ["version", readVersion],
]);

/**
 * Creates a link. Without a keyword, returns the link that the destination has already: tools
 * shorten a page each time that they show it.
 */
async function shorten(v1: V1, fields: Fields): Promise<Result> {
  const url = withScheme(fields.get("url") ?? "");
  const alias = fields.get("keyword");
  const known = alias === undefined ? await v1.findLinksTo(url, { limit: 1 }) : [];
  const body = { url, alias, title: fields.get("title") };
  const link = known[0] ?? (await v1.send(linkResponse, "POST", "/v1/links", body));
  const outcome =
    known.length > 0
      ? { status: "fail", code: "error:url", message: `${url} already exists in database` }
      : { status: "success", message: `${link.original_url} added to database` };
  const { url: destination, title, timestamp: date, ip, clicks, shorturl } = statsOf(link);
  return {
    url: { keyword: link.alias, url: destination, title, date, ip, clicks },
    ...outcome,
    title,
    shorturl,
    statusCode: 200,
    simple: shorturl,
  };
}

/** YOURLS takes a destination without a scheme. */
const withScheme = (url: string): string =>
  url === "" || /^[a-z][a-z\d+.-]*:(?!\d)/i.test(url) ? url : `http://${url}`;

type Link = z.output<typeof linkResponse>;

const statsOf = ({ short_url, original_url, title, created_at, clicks }: Link) => ({
  shorturl: short_url,
  url: original_url,
  title: title ?? original_url,
  // As MySQL writes an instant, in UTC.
  timestamp: created_at.slice(0, "2026-01-31T12:00:00".length).replace("T", " "),
  // The address of its creator is not stored.
  ip: "",
  clicks: String(clicks),
});

/** A URL with a scheme, or with a host before its path. */
const SHORT_URL = /^(?:https?:\/\/|[^/]+\.\p{L}[^/.]*\/)/iu;

async function findLink(v1: V1, fields: Fields): Promise<Link> {
  const short = fields.get("shorturl") ?? "";
  // A keyword may have slashes as well.
  const isUrl = v1.isOwnHost(short.split("/", 1).join("")) || SHORT_URL.test(short);
  return isUrl
    ? await v1.get(linkResponse, "/v1/links/lookup", { short_url: short })
    : await v1.findLink(short);
}

async function expand(v1: V1, fields: Fields): Promise<Result> {
  const link = await findLink(v1, fields);
  const { shorturl, url: longurl, title } = statsOf(link);
  const found = { keyword: link.alias, shorturl, longurl, title, simple: longurl };
  return { ...found, message: "success", statusCode: 200 };
}

const SUCCEEDED = {
  message: "success",
  statusCode: 200,
  simple: "Need either XML or JSON format for stats",
};

async function readLinkStats(v1: V1, fields: Fields): Promise<Result> {
  return { ...SUCCEEDED, link: statsOf(await findLink(v1, fields)) };
}

const ORDERS: ReadonlyMap<string, { sort: string; order: string }> = new Map([
  ["top", { sort: "clicks", order: "desc" }],
  ["bottom", { sort: "clicks", order: "asc" }],
  ["last", { sort: "created_at", order: "desc" }],
]);

async function listLinkStats(v1: V1, fields: Fields): Promise<Result> {
  const order = ORDERS.get(fields.get("filter") ?? "top");
  if (order === undefined) throw invalidField("filter", "must be one of top, bottom, last");
  const limit = Math.min(numberOf(fields, "limit", 10), LINKS_MAX);
  const start = numberOf(fields, "start", 0);
  const links: Link[] = [];
  // Links come by page: those from `start` on may be parts of two.
  for (let page = Math.floor(start / limit) + 1; (page - 1) * limit < start + limit; page++) {
    const query = { page, limit, archived: "any", ...order };
    links.push(...(await v1.get(linkListResponse, "/v1/links", query)).data);
  }
  const shown = links.slice(start % limit, (start % limit) + limit);
  const named = shown.map((link, i): [string, object] => [`link_${i + 1}`, statsOf(link)]);
  return { links: Object.fromEntries(named), stats: await countAll(v1), ...SUCCEEDED };
}

async function readTotals(v1: V1): Promise<Result> {
  return { "db-stats": await countAll(v1), ...SUCCEEDED };
}

async function countAll(v1: V1) {
  const list = await v1.get(linkListResponse, "/v1/links", { page: 1, limit: 1, archived: "any" });
  const { summary } = await v1.get(accountResponse, "/v1/analytics", { period: "all", limit: 1 });
  return {
    total_links: String(list.pagination?.total ?? 0),
    total_clicks: String(summary.total_clicks),
  };
}

async function readVersion(v1: V1, fields: Fields): Promise<Result> {
  await v1.requireKey();
  const database = fields.get("db") === "1" ? { db_version: DB_VERSION } : {};
  return { version: VERSION, ...database, simple: VERSION, statusCode: 200 };
}

/** A parameter that is a number; a limit of none is one of the default. */
function numberOf(fields: Fields, name: string, fallback: number): number {
  const text = fields.get(name) ?? "";
  if (!/^\d{0,7}$/.test(text)) throw invalidField(name, "must be a whole number");
  return Number(text) || fallback;
}

/** The codes of YOURLS for the errors that a tool may handle. */
const CODES: ReadonlyMap<string, string> = new Map([
  ["invalid_url", "error:nourl"],
  ["invalid_alias", "error:keyword"],
  ["alias_taken", "error:keyword"],
]);

function toFailed(fields: Fields, { status, error }: Failure): Result {
  const { code } = error;
  const message = code === "not_found" ? "Error: short URL not found" : error.message;
  return {
    status: "fail",
    code: CODES.get(code) ?? `error:${code}`,
    message,
    errorCode: String(status),
    statusCode: status,
    // A tool that looks at no status would show a message as the short URL.
    simple: fields.get("action") === "shorturl" ? "" : message,
  };
}

function toResponse(fields: Fields, { simple, ...result }: Result): CompatResponse {
  const status = result.statusCode;
  const format = fields.get("format") ?? "xml";
  if (format.startsWith("json")) return toJson(status, result);
  return format === "xml"
    ? { status, type: "application/xml; charset=utf-8", body: toXml(result) }
    : { status, type: "text/plain; charset=utf-8", body: simple };
}

const toXml = (result: object): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<result>\n${toElements(result)}</result>\n`;

const toElements = (value: object): string =>
  Object.entries(value)
    .map(([name, content]) => `<${name}>${toContent(content)}</${name}>\n`)
    .join("");

/** A response has texts, numbers, and objects of them. */
const toContent = (content: unknown): string =>
  typeof content === "object" && content !== null
    ? toElements(content)
    : Bun.escapeHTML(z.coerce.string().parse(content).replaceAll(NOT_XML, ""));

/** Characters that no XML document has. */
const NOT_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;
