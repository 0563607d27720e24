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
import { ApiError, notFound } from "../http/errors.ts";
import type { Call } from "../http/request-context.ts";
import { FileBudget } from "../limits/windows.ts";
import { type AccessPlugin, ERRORS_PATH } from "../site.ts";
import { createAsset, type SendAsset } from "./assets.ts";
import { ERROR_PAGE } from "./error-page.ts";

import swaggerStyle from "swagger-ui-dist/swagger-ui.css" with { type: "file" };

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Shorthop API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<script src="/docs/swagger-ui.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

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

const ASSETS: ReadonlyMap<string, SendAsset> = new Map([
  ["swagger-ui.js", createAsset(JAVASCRIPT, () => Bun.file(swaggerScript).text())],
  ["swagger-ui.css", createAsset("text/css; charset=utf-8", () => Bun.file(swaggerStyle).text())],
  ["start.js", createAsset(JAVASCRIPT, () => START_SCRIPT)],
]);

const sendPage = createAsset(HTML, () => PAGE);
const sendErrorPage = createAsset(HTML, () => ERROR_PAGE);

/** `unsafe-inline` because Swagger UI sets inline styles by script. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** When to ask again for a client that is being packed. */
const PACKED_AFTER_SECONDS = 2;

/** `clientFile` is the path of the packed client; in no folder where there is none. */
export const openApiRoutes = (auth: AccessPlugin, document: () => unknown, clientFile: string) => {
  const budget = new FileBudget();
  const chargeTo =
    ({ address }: Call) =>
    (bytes: number): void =>
      budget.charge(address, bytes);
  const sendDocument = createAsset("application/json", () => JSON.stringify(document()));
  const sendClient = createAsset("application/gzip", async () => {
    const file = Bun.file(clientFile);
    if (await file.exists()) return await file.bytes();
    // A local stack packs it while the API starts.
    if (existsSync(dirname(clientFile)))
      throw new ApiError("unavailable", "The client is being packed. Try again shortly.", {
        retryAfterSeconds: PACKED_AFTER_SECONDS,
      });
    throw notFound("client");
  });
  return new Elysia({ name: "reference" })
    .use(auth)
    .get(`/${CLIENT_FILE}`, ({ call, request, set }) => sendClient(request, set, chargeTo(call)), {
      access: "static",
      detail: { hide: true },
    })
    .get(
      "/v1/openapi.json",
      ({ call, request, set }) => sendDocument(request, set, chargeTo(call)),
      {
        access: "static",
        detail: { hide: true },
      },
    )
    .get("/docs", ({ call, request, set }) => secure(sendPage, request, set, chargeTo(call)), {
      access: "static",
      detail: { hide: true },
    })
    .get(
      ERRORS_PATH,
      ({ call, request, set }) => secure(sendErrorPage, request, set, chargeTo(call)),
      {
        access: "static",
        detail: { hide: true },
      },
    )
    .get(
      "/docs/:asset",
      ({ call, params, request, set }) => {
        const asset = ASSETS.get(params.asset);
        if (asset === undefined) throw notFound("page");
        return secure(asset, request, set, chargeTo(call));
      },
      { access: "static", params: z.object({ asset: z.string() }), detail: { hide: true } },
    );
};

/** Sends a file of the pages, which may load only the service's own. */
function secure(
  send: SendAsset,
  ...[request, set, charge]: Parameters<SendAsset>
): Promise<Response> {
  set.headers["content-security-policy"] = CONTENT_SECURITY_POLICY;
  set.headers["referrer-policy"] = "no-referrer";
  return send(request, set, charge);
}
