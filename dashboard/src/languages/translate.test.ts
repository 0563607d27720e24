/**
 * Goal: texts, numbers and dates are those of the language that is chosen, whatever the browser
 * says.
 */
import { afterEach, describe, expect, test } from "bun:test";

import * as z from "zod";

import { changeDomainBody } from "../../../shared/contracts/domain-settings.ts";
import { invalidValue } from "../../../shared/contracts/errors.ts";
import { updateLinkBody } from "../../../shared/contracts/link-schemas.ts";
import { findContrastProblem, qrStyleFields } from "../../../shared/contracts/qr-style.ts";
import { changeBrandingBody } from "../../../shared/contracts/share-schemas.ts";
import { updateWebhookBody } from "../../../shared/contracts/webhook-schemas.ts";
import { toFormValues, validateLink } from "../pages/links/form.ts";
import { matchLanguage } from "../preferences.ts";
import { formatCount, formatDate, formatPercent, formatWeekday, inSentence } from "../ui/format.ts";
import { describeError, fieldName, translateSentence, validateWith } from "./errors.ts";
import { getLanguage, nameOf, onLanguageChange, setLanguage, t } from "./translate.ts";

// All that a language changes of the page itself.
Object.assign(globalThis, { document: { documentElement: {} } });

afterEach(() => setLanguage("en"));

const formatted = () => [
  formatCount(1_234_567),
  formatPercent(12.34),
  formatDate("2026-01-31T12:00:00Z"),
  formatWeekday(0, "long"),
  inSentence("Links"),
];

/** What the page says when the API refuses the value of a field. */
const refused = (param: string, problem: string): string =>
  describeError({ code: "invalid_request", message: invalidValue(param, problem), param });

describe("the language of the page", () => {
  test("is English until another one is loaded", async () => {
    expect([getLanguage(), t("ui.links", { count: 1 })]).toEqual(["en", "1 link"]);
    expect(t("ui.links", { count: 1_234 })).toBe("1,234 links");
    await setLanguage("de");
    expect(getLanguage()).toBe("de");
    expect(t("ui.links", { count: 1 })).toBe("1 Link");
    expect(t("ui.links", { count: 1_234 })).toBe("1.234 Links");
  });

  test("formats numbers, dates and weekdays", async () => {
    expect(formatted()).toEqual(["1,234,567", "12.3 %", "Jan 31, 2026", "Monday", "links"]);
    await setLanguage("de");
    expect(formatted()).toEqual(["1.234.567", "12,3 %", "31.01.2026", "Montag", "Links"]);
  });

  test("is told to the document and to those who listen", async () => {
    const seen: string[] = [];
    const stop = onLanguageChange(() => seen.push(getLanguage()));
    await setLanguage("de");
    expect(document.documentElement).toMatchObject({ lang: "de", dir: "ltr" });
    stop();
    await setLanguage("en");
    expect(seen).toEqual(["de"]);
  });

  test("translates what the API says, and keeps what it does not know", async () => {
    const wrong = { code: "unauthorized", message: "The e-mail address or the password is wrong." };
    expect(describeError(wrong)).toBe(wrong.message);
    await setLanguage("de");
    expect(describeError(wrong)).toBe("Die E-Mail-Adresse oder das Passwort ist falsch.");
    expect(describeError({ code: "later", message: "Something new." })).toBe("Something new.");
    expect(translateSentence("Something new.")).toBe("Something new.");
  });

  test("says by its code what an error is, whatever its message says", async () => {
    const taken = {
      code: "alias_taken",
      message: 'The alias "x" is already in use.',
      param: "alias",
    };
    const limited = { code: "rate_limited", message: "Quota links_per_day exceeded: 5." };
    expect(describeError(taken)).toBe(taken.message);
    await setLanguage("de");
    expect(describeError(taken)).toBe("Der Alias ist schon vergeben.");
    expect(describeError(limited)).toContain("Versuchen Sie es gleich erneut.");
    expect(describeError({ ...limited, retryAfterSeconds: 8 })).toContain("in 8 Sekunden erneut.");
  });

  test("says nothing of a status for a response that is not the API's", async () => {
    const ofProxy = { code: "unknown", message: "The API responded with status 502." };
    expect(describeError(ofProxy)).toBe(
      "The service did not respond as it should. Try again shortly.",
    );
    await setLanguage("de");
    expect(describeError(ofProxy)).toStartWith("Der Dienst hat nicht geantwortet");
  });

  test("is that of what the form of a link finds wrong with a reserved word", async () => {
    const values = { ...toFormValues(), url: "https://example.com", alias: "help" };
    expect(validateLink(values, 0).alias).toBe('The alias "help" is reserved.');
    await setLanguage("de");
    expect(validateLink(values, 0).alias).toBe("Der Alias ist nicht erlaubt.");
  });

  test("has the bounds of a field as numbers are written, and one of them as one", async () => {
    const long = z.string().max(2_048);
    const some = z.array(z.string()).max(1);
    const validate = () => [validateWith(long)("x".repeat(3_000)), validateWith(some)(["a", "b"])];
    expect(validate()).toEqual(["At most 2,048 characters", "At most 1 item"]);
    await setLanguage("de");
    expect(validate()).toEqual(["Höchstens 2.048 Zeichen", "Höchstens 1 Eintrag"]);
    expect(t("links.bulk.partly.deleted", { done: 0, total: 1 })).toBe("0 von 1 Link gelöscht");
    const cell = { weekday: "Montag", hour: "9", clicks: 1 };
    expect(t("analytics.heatMap.cell", cell)).toBe("Montag 9:00: 1 Klick");
  });

  test("names the field that an error is about, and what is wrong with it", async () => {
    expect(refused("expires_at", "must be later")).toBe(
      'Invalid value for "Expiry": must be later',
    );
    await setLanguage("de");
    expect(refused("color", "must be a colour such as #1d4ed8")).toBe(
      "Ungültiger Wert für „Farbe“: muss eine Farbe wie #1d4ed8 sein",
    );
    const contrast = findContrastProblem({ foreground: "#cccccc", background: "#ffffff" }) ?? "";
    expect(refused("foreground", contrast)).toMatch(
      /: muss sich stärker .* abheben: \d+ % von 55 %$/,
    );
    expect(refused("start_date", "must be at most 10 years before end_date")).toEndWith(
      "darf höchstens 10 Jahre vor dem Ende liegen",
    );
    expect(refused("tags.0", "must be rare")).toBe(
      "Ungültiger Wert für „Schlagwörter 1“: must be rare",
    );
    const url = { code: "invalid_url", param: "url" };
    const urlRefused = (problem: string) =>
      describeError({ ...url, message: `Invalid value for "url": ${problem}` });
    expect(urlRefused("The URL must be an http or https URL.")).toBe(
      "Ungültiger Wert für „Ziel“: Die URL muss mit http oder https beginnen.",
    );
    expect(urlRefused("The URL may have 8192 characters at most.")).toBe(
      "Ungültiger Wert für „Ziel“: Die URL darf höchstens 8192 Zeichen haben.",
    );
    expect(refused("max_clicks", "must be at most 5")).toEndWith("darf höchstens 5 sein");
  });
});

test.each([
  [["de-AT", "en"], "de"],
  [["DE"], "de"],
  [["fr", "de", "en"], "de"],
  [["en-GB", "de"], "en"],
  [["fr"], "en"],
  [[], "en"],
] as const)(
  "of the browser's languages %j, the first that there is is chosen",
  (tags, language) => {
    expect(matchLanguage(tags)).toBe(language);
  },
);

test("a language has its own name", () => {
  expect([nameOf("en"), nameOf("de")]).toEqual(["English", "Deutsch"]);
});

test("every field that a link, a domain, a webhook, a share or the branding changes has a name", () => {
  const bodies = [updateLinkBody, changeDomainBody, updateWebhookBody, changeBrandingBody];
  const shared = ["name", "breakdowns", "timezone", "has_password", "embed_origins"];
  const styled = Object.keys(qrStyleFields);
  const fields = [...bodies.flatMap((body) => Object.keys(body.shape)), ...shared, ...styled];
  expect(fields.filter((field) => fieldName(field) === field)).toEqual([]);
});

test.each([
  ["tags", "Schlagwörter", "Tags"],
  ["tags.0", "Schlagwörter 1", "Tags 1"],
  ["rules.1.conditions.0.in", "Regeln 2 › Bedingungen 1", "Rules 2 › Conditions 1"],
  ["preview.image", "Vorschau › Bild", "Preview › Image"],
  ["qr_style.foreground", "Stil der QR-Codes › Code", "Style of QR codes › Code"],
  ["utm_source", "UTM-Quelle", "UTM source"],
  ["later_field", "later_field", "later_field"],
  ["constructor", "constructor", "constructor"],
  ["0.url", "0.url", "0.url"],
])("the field %s is called %s or %s", async (path, german, english) => {
  await setLanguage("de");
  expect(fieldName(path)).toBe(german);
  await setLanguage("en");
  expect(fieldName(path)).toBe(english);
});
