/** Findings that stay, and why. One that no longer occurs must be removed. */
import type { Finding } from "./tools.ts";

export type Explanation = {
  rule: string;
  /** The places that it explains; all of them when left out. */
  place?: RegExp;
  reason: string;
};

/** Statistics that are shared by a URL. */
const SHARED = /^paths\.\/v1\/shared\//;

export const EXPLAINED: readonly Explanation[] = [
  {
    rule: "owasp:api8:2023-no-server-http",
    reason: "the stack of the test is on loopback; an installation's URL is the one of `API_URL`",
  },
  {
    rule: "owasp:api8:2023-define-cors-origin",
    reason:
      "no origin may call the API from a page unless the operator allows it, so that no response has the header by default",
  },
  {
    rule: "owasp:api4:2023-rate-limit",
    reason:
      "the rule wants one family of headers and every response has two: X-RateLimit-*, which are specified, and RateLimit of the IETF's draft",
  },
  {
    rule: "owasp:api4:2023-array-limit",
    reason:
      "the rule protects a server from long input, and every list of a request has a bound; these are lists of responses",
  },
  {
    rule: "owasp:api4:2023-string-limit",
    place:
      /responses|components\.(?:headers|schemas\.(?!New|LinkChange|LinkUpsert|LinkDeletions|MergeTagsRequest|BulkAnalyticsQuery))/,
    reason:
      "the rule protects a server from long input; these are texts of responses, which the service bounds where it stores them",
  },
  {
    rule: "owasp:api4:2023-string-limit",
    place:
      /schemas\.(?:BulkAnalyticsQuery\.properties\.link_ids|LinkDeletions|(?:LinkChangeOfMany\.properties\.id|NewShare\.properties\.link_id)$)/,
    reason: "a body has 1 MiB and 100 ids at most; an id of any length that is none is not found",
  },
  {
    rule: "owasp:api4:2023-string-limit",
    place: /(?:expires_at|starts_at|until)$|links\.get\.parameters/,
    reason: "the format date-time, which the API checks, leaves no room for a long text",
  },
  ...["no-credentials-in-url", "read-restricted", "write-restricted"].map((rule) => ({
    rule: `owasp:api2:2023-${rule}`,
    place: SHARED,
    reason:
      "a share is a URL for people without an account: its random token lets read sums, and its owner can revoke it",
  })),
  {
    rule: "owasp:api8:2023-define-error-responses-401",
    place: SHARED,
    reason: "no key is asked for; a wrong password is 403",
  },
  {
    rule: "owasp:api7:2023-concerning-url-parameter",
    place: /^paths\.\/v1\/links\/lookup\.get\./,
    reason:
      "the short URL is looked up among the account's links, and nothing is requested from it",
  },
  {
    rule: "owasp:api4:2023-string-restricted",
    reason:
      "free text in any language has no pattern: titles, searches, names, messages. Control characters are rejected, lengths are bounded, and values are always bound in statements and escaped in output",
  },
];

/** Whether an explanation is about a finding. */
export const explains = ({ rule, place }: Explanation, finding: Finding): boolean =>
  rule === finding.rule && (place === undefined || place.test(finding.place));
