/** Descriptions of a link's settings fields. */
import { EXPIRES_AT, RULE_ID } from "../../../shared/contracts/examples.ts";
import type { Prose } from "./types.ts";

const ruleId: Prose = { text: "The rule's id, by which its clicks are counted.", example: RULE_ID };

const linkStatus: Prose = {
  text: "What the link is for visitors now; only an operator lifts `taken_down`.",
  example: "active",
};

export const SETTINGS_FIELDS: Readonly<Record<string, Prose>> = {
  "Link.status": linkStatus,
  "FullLink.status": linkStatus,
  "ListedLink.status": linkStatus,
  starts_at: {
    text: "Until then the link answers as if it did not exist.",
    example: "2030-01-01T08:00:00Z",
  },
  archived: {
    text: "Lists leave the link out unless asked; it redirects as before.",
    example: true,
  },
  disabled: { text: "The link answers as if it did not exist.", example: true },
  expired_url: {
    text: "Where visitors are redirected once the link has expired or its limit is reached.",
    example: "https://example.com/over",
    schema: { maxLength: 8192 },
  },
  rules: { text: "Other destinations for some visitors: the first rule that matches decides." },
  max_clicks: {
    text: "How often the link leads on, over all redirectors, never more: also through crashes, unless NATS forgets what it had acknowledged while a redirector that used these clicks is away.",
    example: 100,
  },
  clicks_left: { text: "How often the link will still lead on.", example: 37 },
  limit_counts: {
    text: "Whether only people spend clicks of the limit; others get a page with a button.",
    example: "human",
  },
  confirm: { text: "A page with a button comes before the destination.", example: true },
  split: { text: "Other destinations for shares of the visitors whom no rule matches." },
  preview: { text: "The card that link-preview agents get instead of the redirect." },
  forward_path: {
    text: "What becomes of a path beyond the alias; without it there is nothing.",
    example: "append",
  },
  "BacktestQuery.period": {
    text: "As in analytics; `30d` when neither it nor dates are sent.",
    example: "7d",
  },
  "BacktestQuery.start_date": {
    text: "The first day, or the instant, at which the range begins.",
    example: "2026-03-01",
  },
  "BacktestQuery.end_date": {
    text: "The last day, whole, or the instant before which the range ends.",
    example: "2026-03-31",
  },
  "BacktestQuery.timezone": {
    text: "The time zone of the days; `UTC` when left out. Schedules have their own.",
    example: "Europe/Berlin",
  },
  "Backtest.otherwise": {
    text: "What would have been left to the split, or the link's own destination.",
  },
  "LinkExplanation.preview": {
    text: "Whether the request gets the link's card instead of being redirected.",
    example: false,
  },
  "NewLinkRule.id": ruleId,
  "LinkRule.id": ruleId,
  "LinkRule.conditions": { text: "All must match." },
  "LinkCondition.type": { text: "What of the request the condition looks at." },
  "LinkCondition.name": { text: "The name of the short URL's parameter.", example: "lang" },
  arms: { text: "The shares of the visitors, whose weights sum up to 100 at most." },
  "NewLinkArm.id": { text: "The arm's id.", example: "arm_01k9z3v6x7e8w9r0t1y2n3h4m5" },
  "LinkArm.id": {
    text: "The arm's id, by which its clicks are counted.",
    example: "arm_01k9z3v6x7e8w9r0t1y2n3h4m5",
  },
  until: { text: "From then on everybody gets the link's own destination.", example: EXPIRES_AT },
  "LinkRequest.country": {
    text: "The country of the address; when left out, rules by country do not match.",
    example: "DE",
  },
  "LinkRequest.at": {
    text: "The instant of the request; now when left out.",
    example: "2030-01-01T08:00:00Z",
  },
  requires_password: { text: "Whether the visitor must enter a password first.", example: false },
  kind: { text: "A rule, an arm of the split, or the link's own destination." },
  matched: { text: "Whether it matches.", example: true },
  "LinkExplanation.id": ruleId,
  "LinkExplanation.url": {
    text: "The destination, before the short URL's query is forwarded.",
    example: "https://apps.apple.com/app/id1",
  },
  "LinkExplanation.conditions": { text: "What of the rule matches, and what does not." },
  "LinkExplanation.type": { text: "What of the request the condition looks at.", example: "os" },
  "LinkExplanation.actual": {
    text: "The request's value, shortened to 255 characters; null when it is unknown.",
    example: "iOS",
  },
  "LinkTargets.id": {
    text: "The id of the rule or arm; null for the link's own destination.",
    example: RULE_ID,
  },
};
