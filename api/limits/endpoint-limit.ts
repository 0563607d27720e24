/** Endpoints with a rate-limit window of their own, beside those of the plan. */
export type EndpointLimit =
  "POST /v1/links" | "POST /v1/analytics/bulk" | "GET /v1/analytics/*" | "POST /v1/domains";
