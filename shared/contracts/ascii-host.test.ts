/** Goal: a host is the same one however it is typed or pasted. */
import { expect, test } from "bun:test";

import { toAsciiHost, toReferringSite } from "./host-names.ts";
import { rulesField } from "./link-rules.ts";
import { shareOrigin } from "./share-schemas.ts";
import { newWebhookBody } from "./webhook-schemas.ts";

test.each([
  ["go.example.com", "go.example.com"],
  ["GO.Example.COM.", "go.example.com"],
  ["bücher.de", "xn--bcher-kva.de"],
  ["BÜCHER.de", "xn--bcher-kva.de"],
  ["bu\u0308cher.de", "xn--bcher-kva.de"],
  ["xn--bcher-kva.de", "xn--bcher-kva.de"],
  ["XN--BCHER-KVA.DE", "xn--bcher-kva.de"],
  ["go.bücher.de:8080", "go.xn--bcher-kva.de:8080"],
  ["例え.テスト", "xn--r8jz45g.xn--zckzah"],
  ["例え。テスト", "xn--r8jz45g.xn--zckzah"],
  ["пример.рф", "xn--e1afmkfd.xn--p1ai"],
  ["straße.de", "xn--strae-oqa.de"],
  ["ｇｏ.example.com", "go.example.com"],
  ["\u200bbücher.de\u200e ", "xn--bcher-kva.de"],
  ["sho.rt.:8080", "sho.rt:8080"],
  ["[2001:db8::1]:8080", "[2001:db8::1]:8080"],
  ["direct", "direct"],
  ["", ""],
  // These are no hosts, and no link and click has them.
  ["bücher.de/a", "bücher.de/a"],
  ["ü@example.com", "ü@example.com"],
  ["ü ü", "ü ü"],
])("%j is %j", (text, host) => {
  expect(toAsciiHost(text)).toBe(host);
  expect(toAsciiHost(host)).toBe(host);
});

test("a host that is too long for one is not converted", () => {
  const long = "ü.".repeat(500);
  expect(toAsciiHost(`${long}de`)).toBe(`${long}de`);
});

test("a referring site is the same with and without www, and as the URL of a page", () => {
  for (const text of [
    "www.Bücher.de",
    "xn--bcher-kva.de",
    "WWW.XN--BCHER-KVA.DE",
    " https://www.bücher.de/a?b#c",
    "HTTP://bücher.de",
    "bücher.de/a",
  ])
    expect(toReferringSite(text)).toBe("xn--bcher-kva.de");
  expect(toReferringSite("android-app://com.google.android.gm/")).toBe("com.google.android.gm");
});

test.each([
  ["https://www.example.com", "https://www.example.com"],
  ["https://Bücher.de", "https://xn--bcher-kva.de"],
  ["\u200bhttps://bücher.de:8443 ", "https://xn--bcher-kva.de:8443"],
])("the origin %j is %s", (text, origin) => {
  expect(shareOrigin.parse(text)).toBe(origin);
});

test.each([
  "bücher.de",
  "https://bücher.de/",
  "https://ü@bücher.de",
  "ftp://bücher.de",
  "https://*",
])("%j is no origin", (text) => {
  expect(shareOrigin.safeParse(text).success).toBe(false);
});

test("hosts that webhooks and rules on referrers name are in ASCII", () => {
  const webhook = {
    url: "https://example.com/",
    events: ["link.created"],
    domains: ["Bücher.de."],
  };
  expect(newWebhookBody.parse(webhook).domains).toEqual(["xn--bcher-kva.de"]);
  const referrer = { type: "referrer", in: ["www.Bücher.de", "direct"] };
  const [rule] = rulesField.parse([{ url: "https://example.com/", conditions: [referrer] }]);
  expect(rule?.conditions).toEqual([{ type: "referrer", in: ["xn--bcher-kva.de", "direct"] }]);
});
