/** Informs load balancers and clients that this process is alive, or that it is stopping. */
import { Elysia } from "elysia";

import { hasSeveralHosts } from "./site-headers.ts";

const HEALTHY = JSON.stringify({ status: "ok" });

/**
 * Responds to `GET /healthz`, for load balancers, without a store, a limit or a key. While the
 * process stops, every response closes its connection.
 */
export const healthPlugin = (isStopping: () => boolean) =>
  new Elysia({ name: "health" }).onRequest(({ request, set }) => {
    if (isStopping()) set.headers["connection"] = "close";
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (!isRead || URL.parse(request.url)?.pathname !== "/healthz") return undefined;
    // Rejected like any other request.
    if (hasSeveralHosts(request)) return undefined;
    set.headers["content-type"] = "application/json";
    return new Response(HEALTHY);
  });
