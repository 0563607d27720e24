/** The reasons of failed requests, as API, redirectors and dashboard name them. */

/** Why a link does not redirect. */
export const LINK_FAILURES = [
  "expired",
  "limit_reached",
  "wrong_password",
  "disabled",
  "not_started",
] as const;

export type LinkFailure = (typeof LINK_FAILURES)[number];

/** Why a request fails: its alias has no link, or the link does not redirect. */
export const FAILURE_REASONS = ["unknown_alias", ...LINK_FAILURES] as const;
