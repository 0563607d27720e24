/** Endpoints that have their own rate-limit window, besides those of the plan. */
export type EndpointLimit =
  "POST /v1/links" | "POST /v1/analytics/bulk" | "GET /v1/analytics/*" | "POST /v1/domains";
