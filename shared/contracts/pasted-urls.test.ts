/** Goal: every URL that people paste loses what nobody sees at its ends. */
import { expect, test } from "bun:test";

import { changeDomainBody } from "./domain-settings.ts";
import { newLinkBody, updateLinkBody, upsertLinkBody } from "./link-schemas.ts";
import { newWebhookBody, updateWebhookBody } from "./webhook-schemas.ts";

const URL = "https://example.com/❤\ufe0f";
const PASTED = `\ufeff\u200e ${URL}\u200b\u200f\n`;

const link = (url: string) => ({
  url,
  expired_url: url,
  rules: [{ url, conditions: [{ type: "os", in: ["iOS"] }] }],
  split: { arms: [{ url, weight: 50 }] },
  preview: { title: "Card", image: url },
});
const domain = (url: string) => ({ root_url: url, not_found_url: url, expired_url: url });
const webhook = (url: string) => ({ url, events: ["link.created"] });

test.each([
  ["a new link", newLinkBody, link],
  ["a change of a link", updateLinkBody, link],
  ["a link by its external id", upsertLinkBody, link],
  ["a domain", changeDomainBody, domain],
  ["a new webhook", newWebhookBody, webhook],
  ["a change of a webhook", updateWebhookBody, webhook],
])("in all fields of %s", (_what, schema, body) => {
  const parsed: unknown = schema.parse(body(PASTED));
  expect(JSON.parse(JSON.stringify(parsed))).toEqual(body(URL));
});

test.each([
  ["blanks", " ", undefined],
  ["nothing", "", undefined],
  ["invisible characters", "\u200b\ufeff", undefined],
  ["null", null, null],
  ["a value between blanks", " letter ", "letter"],
  ["decomposed letters", "cafe\u0301", "café"],
])("a UTM field with %s is what it looks like", (_what, value, expected) => {
  const url = "https://example.com/";
  expect(newLinkBody.parse({ url, utm_source: value }).utm_source).toBe(expected as never);
  expect(updateLinkBody.parse({ utm_term: value }).utm_term).toBe(expected as never);
});

test.each([
  ["nothing", "", null],
  ["blanks", "  ", null],
  ["invisible characters", "\u200b", null],
  ["text", " Sale ", " Sale "],
])("a title or notes of %s", (_what, value, expected) => {
  const url = "https://example.com/";
  const fields = { title: value, notes: value };
  for (const body of [newLinkBody.parse({ ...fields, url }), updateLinkBody.parse(fields)])
    expect([body.title, body.notes]).toEqual([expected, expected]);
});

test("a tag loses what nobody sees at its ends, so that it stays one tag", () => {
  const tags = [" sale", "sale\u200b", "\ufeffsale"];
  expect(updateLinkBody.parse({ tags }).tags).toEqual(["sale"]);
  expect(updateLinkBody.safeParse({ tags: ["\u200b"] }).success).toBe(false);
});

test("a field that is null is as off as one that was not sent", () => {
  const url = "https://example.com/";
  const fields = {
    tags: [],
    forward_query: false,
    disabled: false,
    archived: false,
    confirm: false,
  };
  for (const schema of [newLinkBody, updateLinkBody]) {
    const names = Object.keys(schema.shape);
    const sent = Object.fromEntries(names.map((name) => [name, null]));
    const parsed = schema.parse({ ...sent, url, alias: "a" });
    expect(parsed).toMatchObject({ ...fields, title: null, max_clicks: null });
    expect(parsed.limit_counts).toBeUndefined();
  }
});
