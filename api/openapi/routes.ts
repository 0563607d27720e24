/**
 * Serves `/v1/openapi.json`, `/docs`, a page that renders it (Swagger UI, self-hosted), and the
 * TypeScript client that fits it.
 */
import { existsSync } from "node:fs";
import { dirname } from "node:path";

import { Elysia } from "elysia";
import swaggerScript from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import * as z from "zod";

import { CLIENT_FILE } from "../../shared/version.ts";
import { acceptsCoding } from "../http/compression.ts";
import { ApiError, ERRORS, notFound } from "../http/errors.ts";
import { isNotModified } from "../http/etag.ts";
import { addVary, type Call, type ResponseSettings } from "../http/request-context.ts";
import { FileBudget } from "../limits/windows.ts";
import { type AccessPlugin, ERRORS_PATH } from "../site.ts";

import swaggerStyle from "swagger-ui-dist/swagger-ui.css" with { type: "file" };

type Bytes = Uint8Array<ArrayBuffer>;

/** `gzip` is undefined for what is compressed by itself. */
type Prepared = { etag: string; plain: Bytes; gzip: Bytes | undefined };

/** A call of a route: its request, the settings of its response, and who pays for it. */
type AssetCall = { call: Call; request: Request; set: ResponseSettings };

/** A file of the reference: compressed and hashed on the first request, then served from memory. */
class Asset {
  readonly #type: string;
  readonly #read: () => Promise<string | Bytes> | string;
  readonly #headers: Readonly<Record<string, string>>;
  #prepared: Prepared | undefined;

  /**
   * `read` is called for the first request, and again while it throws. Bytes are compressed
   * already. Responses have the further `headers`.
   */
  constructor(
    type: string,
    read: () => Promise<string | Bytes> | string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    this.#type = type;
    this.#read = read;
    this.#headers = headers;
  }

  /**
   * Sends the file to a client, or 304 if the client's copy is current. Its bytes are taken from
   * the budget of the client's address, which throws when nothing is left.
   */
  async send({ call, request, set }: AssetCall, budget: FileBudget): Promise<Response> {
    this.#prepared ??= prepare(await this.#read());
    const { etag, plain, gzip } = this.#prepared;
    Object.assign(set.headers, this.#headers);
    set.headers["etag"] = etag;
    addVary(set.headers, "Accept-Encoding");
    set.headers["cache-control"] = "no-cache";
    if (isNotModified(request.headers, etag)) {
      budget.charge(call.address, 0);
      set.status = 304;
      return new Response(null, { status: 304 });
    }
    const zipped = acceptsCoding(request.headers, "gzip") ? gzip : undefined;
    const body = zipped ?? plain;
    budget.charge(call.address, body.length);
    set.headers["content-type"] = this.#type;
    if (zipped !== undefined) set.headers["content-encoding"] = "gzip";
    return new Response(body);
  }
}

function prepare(content: string | Bytes): Prepared {
  const isText = typeof content === "string";
  const plain = isText ? new TextEncoder().encode(content) : content;
  const hash = new Bun.CryptoHasher("sha256").update(plain).digest("hex").slice(0, 16);
  return { etag: `"${hash}"`, plain, gzip: isText ? Bun.gzipSync(plain) : undefined };
}

const documentOf = (title: string, head: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
${head}
</head>
<body>
${body}
</body>
</html>
`;

const PAGE = documentOf(
  "Shorthop API",
  `<link rel="stylesheet" href="/docs/swagger-ui.css">`,
  `<div id="reference"></div>
<script src="/docs/swagger-ui.js"></script>
<script src="/docs/start.js"></script>`,
);

const toCode = (text: string): string => text.replaceAll(/`([^`]+)`/g, "<code>$1</code>");

const ENTRIES = Object.entries(ERRORS)
  .map(
    ([code, [status, when]]) =>
      `<dt id="${code}"><code>${code}</code> (${status})</dt>\n<dd>${toCode(when)}</dd>`,
  )
  .join("\n");

/** The page behind the `doc_url` of errors: every code, when it occurs, and its status. */
const ERROR_PAGE = documentOf(
  "Errors of the Shorthop API",
  `<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 45rem; padding: 0 1rem; }
dt { margin-top: 1rem; }
:target { background: #fff3b0; }
</style>`,
  `<h1>Errors</h1>
<p>Every error has a stable <code>code</code> and a <code>message</code> for people. <code>param</code> names the field or
query parameter that it is about, and <code>details</code> lists every problem that was found.
See the <a href="/docs">reference</a>.</p>
<dl>
${ENTRIES}
</dl>`,
);

/** Collapses operations and renders schemas only when opened: the page loads faster. */
const START_SCRIPT = `SwaggerUIBundle({
  url: "/v1/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  filter: true,
  validatorUrl: null,
});
`;

const JAVASCRIPT = "text/javascript; charset=utf-8";

const HTML = "text/html; charset=utf-8";

/**
 * The headers of the pages and their files, which may load only the service's own; `unsafe-inline`
 * because Swagger UI sets inline styles by script.
 */
const PAGE_HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  "referrer-policy": "no-referrer",
};

const pageFile = (type: string, read: () => Promise<string> | string): Asset =>
  new Asset(type, read, PAGE_HEADERS);

const page = pageFile(HTML, () => PAGE);
const errorPage = pageFile(HTML, () => ERROR_PAGE);

const ASSETS: ReadonlyMap<string, Asset> = new Map([
  ["swagger-ui.js", pageFile(JAVASCRIPT, () => Bun.file(swaggerScript).text())],
  ["swagger-ui.css", pageFile("text/css; charset=utf-8", () => Bun.file(swaggerStyle).text())],
  ["start.js", pageFile(JAVASCRIPT, () => START_SCRIPT)],
]);

/** When to ask again for a client that is being packed. */
const PACKED_AFTER_SECONDS = 2;

/** The options of a route that the document leaves out; the framework changes them in place. */
const hidden = () => ({ access: "static", detail: { hide: true } }) as const;

/** `clientFile` is the path of the packed client; in no folder where there is none. */
export const referenceRoutes = (
  auth: AccessPlugin,
  document: () => unknown,
  clientFile: string,
) => {
  const budget = new FileBudget();
  const serve =
    (asset: Asset) =>
    ({ call, request, set }: AssetCall): Promise<Response> =>
      asset.send({ call, request, set }, budget);
  const json = new Asset("application/json", () => JSON.stringify(document()));
  const client = new Asset("application/gzip", () => readClient(clientFile));
  return new Elysia({ name: "reference" })
    .use(auth)
    .get(`/${CLIENT_FILE}`, serve(client), hidden())
    .get("/v1/openapi.json", serve(json), hidden())
    .get("/docs", serve(page), hidden())
    .get(ERRORS_PATH, serve(errorPage), hidden())
    .get(
      "/docs/:asset",
      ({ call, params, request, set }) => {
        const asset = ASSETS.get(params.asset);
        if (asset === undefined) throw notFound("page");
        return asset.send({ call, request, set }, budget);
      },
      { ...hidden(), params: z.object({ asset: z.string() }) },
    );
};

async function readClient(path: string): Promise<Uint8Array<ArrayBuffer>> {
  const file = Bun.file(path);
  if (await file.exists()) return await file.bytes();
  // A local stack packs it while the API starts.
  if (existsSync(dirname(path)))
    throw new ApiError("unavailable", "The client is being packed. Try again shortly.", {
      retryAfterSeconds: PACKED_AFTER_SECONDS,
    });
  throw notFound("client");
}
