/**
 * Every type of event, and what it records. The list grows: readers ignore types they do not know.
 */
const EVENT_TYPES = {
  "link.created": "A link was created.",
  "link.updated": "Fields of a link changed; `changes` has each before and after.",
  "link.deleted": "A link was deleted; `link` is what it was.",
  "link.expired": "The `expires_at` of a link passed.",
  "link.limit_reached": "A link has redirected as often as its `max_clicks` allow.",
  "link.taken_down": "The operator took a link down.",
  "link.restored": "The operator lifted the takedown of a link.",
  "account.taken_down": "The operator took down all links of the account.",
  "account.restored": "The operator lifted the takedown of the account.",
  "clicks.recorded": "Clicks by people were stored: at most 500 of them.",
  "clicks.left_out": "More clicks were stored than the account gets events of in a day.",
  "domain.created": "A domain was added.",
  "domain.verified": "The proof of a domain was found: links can use it.",
  "domain.updated": "Settings of a domain changed; `changes` has each before and after.",
  "domain.displaced":
    "A domain is no longer verified: its proof was missing and another account verified it, or the operator released it.",
  "domain.deleted": "A domain was deleted.",
  "key.created": "An API key was created.",
  "key.rotated": "An API key was replaced by a new one; `replaces` is the old one.",
  "key.revoked": "An API key was revoked.",
  "member.joined": "A user became a member of the account.",
  "member.updated": "The role of a member changed.",
  "member.removed": "A user is no longer a member of the account.",
  "member.reset_link_created": "Somebody made a link with which a member sets a new password.",
  "share.created": "Statistics were shared.",
  "share.updated": "A share changed; `changes` has each field before and after.",
  "share.revoked": "A share was revoked.",
  "report.ready": "A report was made of a period that is over.",
  "webhook.disabled":
    "A webhook was disabled because its receiver is gone, or failed for five days.",
  "webhook.test": "Somebody tests a webhook, which alone receives it.",
} as const;

export type EventType = keyof typeof EVENT_TYPES;

// Object.keys loses the type of the keys; the table has no others.
export const EVENT_TYPE_NAMES = Object.keys(EVENT_TYPES) as [EventType, ...EventType[]];
