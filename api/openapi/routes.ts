/** Serves `/v1/openapi.json` and `/docs`, a page that renders it (Swagger UI, self-hosted). */
import { Elysia } from "elysia";
import swaggerScript from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import * as z from "zod";

import type { AuthPlugin } from "../auth/plugin.ts";
import { notFound } from "../http/errors.ts";

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

const START_SCRIPT = `SwaggerUIBundle({ url: "/v1/openapi.json", dom_id: "#reference", deepLinking: true, validatorUrl: null });
`;

const JAVASCRIPT = "text/javascript; charset=utf-8";

type Asset = { type: string; read: () => string | Bun.BunFile };

const ASSETS: ReadonlyMap<string, Asset> = new Map<string, Asset>([
  ["swagger-ui.js", { type: JAVASCRIPT, read: () => Bun.file(swaggerScript) }],
  ["swagger-ui.css", { type: "text/css; charset=utf-8", read: () => Bun.file(swaggerStyle) }],
  ["start.js", { type: JAVASCRIPT, read: () => START_SCRIPT }],
]);

/** `unsafe-inline` because Swagger UI sets inline styles by script. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

type OpenApiRoutesDeps = { auth: AuthPlugin; document: () => unknown };

export const openApiRoutes = ({ auth, document }: OpenApiRoutesDeps) =>
  new Elysia({ name: "reference" })
    .use(auth)
    .get("/v1/openapi.json", () => Response.json(document()), {
      access: "public",
      detail: { hide: true },
    })
    .get("/docs", ({ set }) => sendAsset(set.headers, "text/html; charset=utf-8", PAGE), {
      access: "static",
      detail: { hide: true },
    })
    .get(
      "/docs/:asset",
      ({ params, set }) => {
        const asset = ASSETS.get(params.asset);
        if (asset === undefined) throw notFound("page");
        set.headers["cache-control"] = "max-age=3600";
        return sendAsset(set.headers, asset.type, asset.read());
      },
      { access: "static", params: z.object({ asset: z.string() }), detail: { hide: true } },
    );

function sendAsset(
  headers: Record<string, string | number>,
  type: string,
  body: string | Bun.BunFile,
): Response {
  headers["content-type"] = type;
  headers["content-security-policy"] = CONTENT_SECURITY_POLICY;
  headers["referrer-policy"] = "no-referrer";
  return new Response(body);
}
