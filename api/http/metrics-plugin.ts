/** Reports the duration, the route and the status of every request. */
import { Elysia } from "elysia";

export type CompletedRequest = {
  request: Request;
  /** The route's pattern, such as `/v1/links/:id`; empty when no route matches. */
  route: string;
  status: number;
  /** From the request's arrival to its response. */
  seconds: number;
};

export type Observe = (completed: CompletedRequest) => void;

export const metricsPlugin = (observe: Observe) => {
  const starts = new WeakMap<Request, number>();
  return new Elysia({ name: "metrics" })
    .onRequest(({ request }) => void starts.set(request, performance.now()))
    .onAfterResponse({ as: "global" }, ({ request, route, set, responseValue }) => {
      const start = starts.get(request);
      if (start === undefined) return;
      const status =
        responseValue instanceof Response ? responseValue.status : Number(set.status ?? 200);
      observe({ request, route, status, seconds: (performance.now() - start) / 1_000 });
    });
};
