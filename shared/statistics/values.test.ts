import { expect, test } from "bun:test";

import { textsOf } from "../languages/messages.ts";
import english from "../languages/statistics/en.json";
import { describePlace, describeValue } from "./values.ts";

const texts = textsOf("en", english);

test.each([
  ["language", "de", "German"],
  ["language", "", "Unknown"],
  ["referrer", "xn--bcher-kva.de", "bücher.de"],
  ["host", "xn--bcher-kva.de", "bücher.de"],
  ["domain", "xn--bcher-kva.de", "bücher.de"],
  ["referrer", "xn--80ak6aa92e.com", "xn--80ak6aa92e.com"],
  ["referrer", "direct", "Direct"],
  ["referrer", "t.co", "X"],
  ["referrer", "com.google.android.gm", "Gmail"],
  ["referrer", "lnkd.in", "LinkedIn"],
  ["referrer", "com.linkedin.android", "LinkedIn"],
  ["referrer", "com.slack", "Slack"],
  ["referrer", "org.telegram.messenger", "Telegram"],
  ["referrer", "com.example.app", "com.example.app"],
  ["referrer", "constructor", "constructor"],
  ["host", "t.co", "t.co"],
  ["country", "DE", "Germany"],
  ["country", "ZZ", "Unknown"],
  ["utm_source", "", "None"],
  ["tag", "xn--bcher-kva", "xn--bcher-kva"],
] as const)("a %s of %p is shown as %p", (name, value, text) => {
  expect(describeValue(name, value, { tag: "en", translate: (key) => texts[key]() })).toBe(text);
});

test.each([
  ["browser", "Unknown", "[unknown]"],
  ["os", "Unknown", "[unknown]"],
  ["region", "Unknown", "[unknown]"],
  ["city", "Unknown", "[unknown]"],
  ["country", "ZZ", "[unknown]"],
  ["device", "mobile", "[mobile]"],
  ["trigger", "qr", "[qr]"],
  ["imported", "yes", "[imported]"],
  ["continent", "EU", "[europe]"],
  ["utm_source", "Unknown", "Unknown"],
] as const)("a %s that is %p is said in the language of the page: %s", (name, value, text) => {
  expect(describeValue(name, value, { tag: "de", translate: (key) => `[${key}]` })).toBe(text);
});

test("an unknown region is no part of where a city is", () => {
  const german = { tag: "de", translate: (key: string) => `[${key}]` };
  expect(describePlace({ country: "DE", region: "Unknown", city: "Bonn" }, german)).toBe(
    "Deutschland",
  );
  expect(describePlace({ country: "DE", region: "Berlin", city: "Berlin" }, german)).toBe(
    "Berlin, Deutschland",
  );
});
