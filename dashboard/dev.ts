/**
 * Development server: `bun dashboard/dev.ts PORT API_URL` serves the dashboard with hot reload and
 * proxies API requests to the API process, so that both share one origin as in production.
 */
import page from "./index.html";

const [port, apiUrl] = process.argv.slice(2);
if (port === undefined || apiUrl === undefined) {
  console.error("Usage: bun dashboard/dev.ts PORT API_URL");
  process.exit(2);
}

/** Forwards a request unchanged: the API process checks its origin, cookie and address. */
async function forward(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const response = await fetch(`${apiUrl}${pathname}${search}`, {
    method: request.method,
    headers: request.headers,
    body: request.body,
    redirect: "manual",
    signal: request.signal,
  });
  const headers = new Headers(response.headers);
  // `fetch` has decompressed the body.
  headers.delete("content-encoding");
  headers.delete("content-length");
  return new Response(response.body, { status: response.status, headers });
}

/** Forwards a request to the API process; responds with 503 while that reloads. */
const proxyToApi = (request: Request): Promise<Response> =>
  forward(request).catch((error: unknown) =>
    Response.json(
      { error: { code: "unavailable", message: `The API does not respond: ${String(error)}` } },
      { status: 503 },
    ),
  );

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  // The event stream of live clicks stays open.
  idleTimeout: 0,
  development: { hmr: true, console: true },
  routes: { "/api/*": proxyToApi, "/auth/*": proxyToApi, "/*": page },
});
