/** `/v1/openapi.json`, and `/docs`: a page to read it, which needs nothing from elsewhere. */
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

const START = `SwaggerUIBundle({ url: "/v1/openapi.json", dom_id: "#reference", deepLinking: true, validatorUrl: null });
`;

const SCRIPT = "text/javascript; charset=utf-8";

const ASSETS: Readonly<Record<string, { type: string; read: () => string | Bun.BunFile }>> = {
  "swagger-ui.js": { type: SCRIPT, read: () => Bun.file(swaggerScript) },
  "swagger-ui.css": { type: "text/css; charset=utf-8", read: () => Bun.file(swaggerStyle) },
  "start.js": { type: SCRIPT, read: () => START },
};

/** The page's own styles are set by its script, which a policy can only allow as a whole. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

type ReferenceRoutesDeps = { auth: AuthPlugin; document: () => unknown };

export const referenceRoutes = ({ auth, document }: ReferenceRoutesDeps) =>
  new Elysia({ name: "reference" })
    .use(auth)
    .get("/v1/openapi.json", () => Response.json(document()), {
      access: "public",
      detail: { hide: true },
    })
    .get("/docs", ({ set }) => send(set.headers, "text/html; charset=utf-8", PAGE), {
      access: "public",
      detail: { hide: true },
    })
    .get(
      "/docs/:asset",
      ({ params, set }) => {
        const asset = ASSETS[params.asset];
        if (asset === undefined) throw notFound("page");
        set.headers["cache-control"] = "max-age=3600";
        return send(set.headers, asset.type, asset.read());
      },
      { access: "public", params: z.object({ asset: z.string() }), detail: { hide: true } },
    );

function send(
  headers: Record<string, string | number>,
  type: string,
  body: string | Bun.BunFile,
): Response {
  headers["content-type"] = type;
  headers["content-security-policy"] = POLICY;
  headers["x-content-type-options"] = "nosniff";
  headers["referrer-policy"] = "no-referrer";
  return new Response(body);
}
