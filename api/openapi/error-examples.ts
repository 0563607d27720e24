/**
 * The API's error messages, for the examples of the reference; other codes use their description.
 */

export const MESSAGES: Readonly<Record<string, string>> = {
  invalid_request: "url is required.",
  invalid_url: "The URL must be an http or https URL.",
  invalid_alias:
    "An alias has 1 to 64 characters of A–Z, a–z, 0–9, _ and -, and does not start with -.",
  alias_taken: 'The alias "summer-sale" is already in use.',
  unauthorized: "The API key is missing or invalid.",
  forbidden: "The API key lacks the scope links:write.",
  key_revoked: "The API key has been revoked.",
  quota_exceeded: "The account has reached its maximum of 10 domains.",
  not_found: "The link does not exist.",
  method_not_allowed: "This resource takes GET, POST.",
  idempotency_conflict: "The Idempotency-Key was used with a different request.",
  idempotency_in_progress: "The first request with this Idempotency-Key is still in progress.",
  domain_taken: "The domain has been verified by another account.",
  tag_taken: 'The tag "spring" exists already. Send "merge": true to merge the two.',
  domain_in_use: "The domain still has links.",
  aliases_collide: "These aliases differ only in case: Sale, sale.",
  link_taken_down: "An operator has taken the link down. It can be neither deleted nor renamed.",
  conflict: "Another request has rotated this key.",
  precondition_failed: "The link has changed since you read it.",
  payload_too_large: "The body may have 1048576 bytes at most.",
  unsupported_media_type: "Send the body as Content-Type: application/json.",
  rate_limited: "Rate limit exceeded: 60 requests in 60 seconds. Try again in 42 seconds.",
  internal: "Something went wrong on our side.",
  unavailable: "The service is temporarily unavailable. Try again shortly.",
};

/** Further members of a code's example, besides code and message. */
export const MEMBERS: Readonly<Record<string, object>> = {
  invalid_request: {
    param: "url",
    details: [{ param: "url", message: "url is required." }],
  },
  invalid_url: { param: "url" },
  invalid_alias: { param: "alias" },
  alias_taken: { param: "alias" },
  tag_taken: { param: "name" },
  rate_limited: { retry_after: 42 },
};
