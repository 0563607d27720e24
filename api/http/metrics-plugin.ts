/** Tells how long every request took, by what it was for and how it ended. */
import { Elysia } from "elysia";

/** A request that was answered. */
export type Answered = {
  request: Request;
  /** The pattern, such as `/v1/links/:id`; empty for what is nowhere. */
  route: string;
  status: number;
  seconds: number;
};

export type Observe = (answered: Answered) => void;

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
