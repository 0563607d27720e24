/** Tells how long every request took, by what it was for and how it ended. */
import { Elysia } from "elysia";

/** `route` is the pattern, such as `/v1/links/:id`; empty for what is nowhere. */
export type Observe = (method: string, route: string, status: number, seconds: number) => void;

export const metricsPlugin = (observe: Observe) => {
  const starts = new WeakMap<Request, number>();
  return new Elysia({ name: "metrics" })
    .onRequest(({ request }) => void starts.set(request, performance.now()))
    .onAfterResponse({ as: "global" }, ({ request, route, set, responseValue }) => {
      const start = starts.get(request);
      if (start === undefined) return;
      const status =
        responseValue instanceof Response ? responseValue.status : Number(set.status ?? 200);
      observe(request.method, route, status, (performance.now() - start) / 1_000);
    });
};
