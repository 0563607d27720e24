import { describe, expect, test } from "bun:test";

import type { Domain } from "../../../../clients/typescript/src/index.ts";
import { changeDomainBody } from "../../../../shared/contracts/domain-settings.ts";
import { readDomainValues, toDomainValues } from "./page.tsx";

const SET = {
  root_url: "https://example.com/",
  not_found_url: "https://example.com/none",
  expired_url: "https://example.com/over",
  redirect_status: 301,
  case_sensitive: false,
  apple_app_site_association: { applinks: { details: [] } },
  assetlinks: [{ relation: [] }],
} as const;

const DOMAIN: Domain = {
  id: "dom_01k9z3v6x7e8w9r0t1y2n3h4m5",
  domain: "go.example.com",
  status: "verified",
  verification: { type: "TXT", name: "_shorthop.go.example.com", value: "x" },
  routing: { type: "CNAME", name: "go.example.com", value: "sho.rt" },
  created_at: "2026-01-01T00:00:00.000Z",
  verified_at: "2026-01-01T00:00:00.000Z",
};

const PLAIN = toDomainValues(DOMAIN);
const FULL = toDomainValues({ ...DOMAIN, ...SET, assetlinks: [...SET.assetlinks] });

describe("the form of a domain's settings", () => {
  test("sets every setting that the API sets, and shows each as it is", () => {
    const read = readDomainValues(PLAIN, FULL);
    expect(read).toEqual({ change: { ...SET, assetlinks: [...SET.assetlinks] }, errors: {} });
    expect(Object.keys(SET).toSorted()).toEqual(Object.keys(changeDomainBody.shape).toSorted());
  });

  test("sends only what has changed, and null for what is emptied", () => {
    expect(readDomainValues(FULL, FULL)).toEqual({ change: {}, errors: {} });
    const emptied = {
      ...FULL,
      root_url: " ",
      assetlinks: "",
      ignoresCase: false,
      redirect_status: "",
    };
    expect(readDomainValues(FULL, emptied)).toEqual({
      change: { root_url: null, assetlinks: null, redirect_status: null, case_sensitive: true },
      errors: {},
    });
  });

  test.each([
    ["a URL of another scheme", { root_url: "ftp://example.com" }, "root_url"],
    ["what is not JSON", { assetlinks: "[" }, "assetlinks"],
    ["an object for a list", { assetlinks: "{}" }, "assetlinks"],
    ["a list for an object", { apple_app_site_association: "[]" }, "apple_app_site_association"],
    ["a large file", { assetlinks: JSON.stringify(["ü".repeat(8_200)]) }, "assetlinks"],
  ])("rejects %s at its field", (_name, change, field) => {
    const { errors } = readDomainValues(PLAIN, { ...PLAIN, ...change });
    expect(Object.keys(errors)).toEqual([field]);
  });
});
