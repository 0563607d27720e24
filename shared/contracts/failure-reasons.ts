/** Why requests lead nowhere: API, redirectors and dashboard name the reasons alike. */

/** Why a link leads nowhere. */
export const LINK_FAILURES = [
  "expired",
  "limit_reached",
  "wrong_password",
  "disabled",
  "not_started",
] as const;

export type LinkFailure = (typeof LINK_FAILURES)[number];

/** Why a request fails: an alias without a link, or a link that leads nowhere. */
export const FAILURE_REASONS = ["unknown_alias", ...LINK_FAILURES] as const;
