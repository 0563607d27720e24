import { describe, expect, test } from "bun:test";

import { newLinkBody } from "../../../../shared/contracts/link-schemas.ts";
import { fullLink } from "../../../../test/harness/full-link.ts";
import {
  copyDecisions,
  copyValues,
  getChanges,
  toFormValues,
  toRequestBody,
  toTemplate,
  validateLink,
} from "./form.ts";

const NOW = Date.parse("2026-11-22T12:00:00Z");

/** Rules and split have a page of their own, whose tests are in `rules/draft.test.ts`. */
const ON_OWN_PAGE = ["rules", "split"];

const SET = {
  alias: "spring",
  domain: "go.example.com",
  title: "Spring sale",
  notes: "Flyers of May\n\tאביב 👩‍👧 ",
  tags: ["a", "b"],
  expires_at: "2030-01-01T00:00:00.000Z",
  starts_at: "2029-01-01T00:00:00.000Z",
  external_id: "order-1",
  disabled: true,
  archived: true,
  expired_url: "https://example.com/over",
  max_clicks: 100,
  limit_counts: "human",
  confirm: true,
  preview: { title: "Card", description: "Text", image: "https://example.com/card.png" },
  forward_path: "append",
  redirect_status: 301,
  forward_query: true,
  utm_source: "s",
  utm_medium: "m",
  utm_campaign: "c",
  utm_term: "t",
  utm_content: "o",
} as const;

const LINK = fullLink({ has_password: true, ...SET, tags: [...SET.tags] });

describe("the form of a link", () => {
  test("has every field that the API sets, but those of the rules page", () => {
    const fields = Object.keys(toRequestBody(toFormValues()));
    const settable = Object.keys(newLinkBody.shape);
    expect([...fields, ...ON_OWN_PAGE].toSorted()).toEqual(settable.toSorted());
  });

  test("shows each setting of a link, and changes none that stays as it is", () => {
    const values = toFormValues(LINK);
    expect(toRequestBody(values)).toEqual({
      ...SET,
      tags: [...SET.tags],
      url: LINK.original_url,
      password: null,
    });
    expect(getChanges(values, values)).toEqual({});
    expect(validateLink(values, NOW, values)).toEqual({});
  });

  test.each([
    ["spring", "spring"],
    [" spring\u200b", "spring"],
    ["/spring", "spring"],
    ["https://go.example.com/spring?x", "spring"],
    ["HTTP://localhost:8080/2026/spring/", "2026/spring"],
    ["https://go.example.com/gr%C3%BCn", "grün"],
    ["v1.2/notes", "v1.2/notes"],
    ["https://go.example.com/", null],
    [" ", null],
  ])("takes the alias of %j, as it was pasted", (alias, expected) => {
    expect(toRequestBody({ ...toFormValues(), alias }).alias).toBe(expected);
  });

  test("switches off what is emptied", () => {
    const values = toFormValues(LINK);
    const emptied = { ...values, max_clicks: "", preview_title: "", preview_description: "" };
    expect(getChanges(values, { ...emptied, preview_image: " ", forward_path: "" })).toEqual({
      max_clicks: null,
      preview: null,
      forward_path: null,
    });
  });

  test.each([
    ["a limit of none", { max_clicks: "0" }, "max_clicks"],
    ["half a click", { max_clicks: "1.5" }, "max_clicks"],
    ["a limit in words", { max_clicks: "many" }, "max_clicks"],
    ["a card without a title", { preview_title: "" }, "preview_title"],
    ["a long description", { preview_description: "x".repeat(1_001) }, "preview_description"],
    ["an image by http", { preview_image: "http://example.com/card.png" }, "preview_image"],
    ["an image without a host", { preview_image: "card.png" }, "preview_image"],
    ["a long id", { external_id: "x".repeat(256) }, "external_id"],
    ["a fallback that is no page", { expired_url: "ftp://example.com" }, "expired_url"],
  ])("rejects %s at its field", (_name, change, field) => {
    const values = { ...toFormValues(LINK), ...change };
    expect(Object.keys(validateLink(values, NOW))).toEqual([field]);
  });
});

describe("the form of a new link", () => {
  test("adds the scheme that the destination lacks", () => {
    const values = { ...toFormValues(), url: " example.com/x " };
    expect(validateLink(values, NOW)).toEqual({});
    expect(toRequestBody(values).url).toBe("https://example.com/x");
    expect(Object.keys(validateLink({ ...values, url: "example" }, NOW))).toEqual(["url"]);
  });

  test("counts people's clicks only, unless its limit or the user says otherwise", () => {
    expect(toFormValues().limit_counts).toBe("human");
    const { limit_counts: _, ...counted } = LINK;
    expect(toFormValues(counted).limit_counts).toBe("all");
    const { max_clicks: __, ...unlimited } = counted;
    expect(toFormValues(unlimited).limit_counts).toBe("human");
  });

  test("reserves few words on a domain of the account", () => {
    const values = { ...toFormValues(), url: "https://example.com", alias: "help" };
    expect(Object.keys(validateLink(values, NOW))).toEqual(["alias"]);
    expect(validateLink({ ...values, domain: "go.example.com" }, NOW)).toEqual({});
  });

  test("begins a copy with all settings but those of one link alone, and leads at once", () => {
    const { alias, external_id, disabled, archived, ...others } = toFormValues(LINK);
    expect([alias, external_id, disabled, archived]).not.toContain("");
    expect(copyValues(LINK, NOW)).toEqual({
      ...others,
      alias: "",
      external_id: "",
      disabled: false,
      archived: false,
    });
    const over = { ...LINK, expires_at: "2026-01-01T00:00:00.000Z" };
    expect(copyValues(over, NOW).expires_at).toBe("");
    expect(validateLink(copyValues(over, NOW), NOW)).toEqual({});
  });

  test("gives the rules and arms of a copy no ids of the original's", () => {
    const rules = [{ id: "rule_1", url: "https://example.com/de", conditions: [] }];
    const arms = [{ id: "arm_1", url: "https://example.com/b", weight: 30 }];
    expect(copyDecisions({ ...LINK, rules, split: { arms, until: null } })).toEqual({
      rules: [{ url: "https://example.com/de", conditions: [] }],
      split: { arms: [{ url: "https://example.com/b", weight: 30 }], until: null },
    });
    expect(copyDecisions(LINK)).toEqual({});
  });
});

test("a tag with a comma or a semicolon stays one in an edited link and in its copy", () => {
  const link = { ...LINK, tags: ["Q1;Q2", "a,b"] };
  const values = toFormValues(link);
  const tags = `${values.tags}, new`;
  expect(getChanges(values, { ...values, tags })).toEqual({ tags: ["Q1;Q2", "a,b", "new"] });
  expect(toRequestBody(copyValues(link, NOW)).tags).toEqual(link.tags);
});

test("a template of UTM parameters has what is filled in", () => {
  expect(toTemplate({ ...toFormValues(), utm_source: " a&b ", utm_content: "ü" })).toBe(
    "utm_source=a%26b&utm_content=%C3%BC",
  );
});
