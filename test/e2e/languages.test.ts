/**
 * Goal: people see shared statistics in the language that they accept, and nothing but pages depends
 * on it. The pages of short links are tested in `redirector/pages/error-pages.test.ts`.
 */
import { describe, expect, test } from "bun:test";

import * as z from "zod";

import { createAccount } from "../harness/admin.ts";
import { type ApiResponse, call, linkSchema } from "../harness/api.ts";
import { forFile } from "../harness/for-file.ts";
import { useStack } from "../harness/stack.ts";

const PASSWORD = "correct horse";

const stack = await forFile(useStack());
const account = await createAccount(stack, "business");

const short = (path: string) => `${stack.info().short_url}${path}`;
const api = (path: string) => `${stack.info().api_url}${path}`;

async function createLink(body: object = {}) {
  const link = { url: "https://example.com/", ...body };
  const response = await call(api("/v1/links"), { key: account.key, body: link });
  return linkSchema.parse(response.body).short_url;
}

async function createShare(body: object = {}): Promise<{ token: string; url: string }> {
  const response = await call(api("/v1/shares"), { key: account.key, body });
  return z.object({ token: z.string(), url: z.string() }).parse(response.body);
}

let visits = 0;

type Visit = { accepted?: string; form?: string };

/** Opens an address, or posts a form there, from a network of its own. */
const visit = (url: string, { accepted, form }: Visit = {}): Promise<ApiResponse> =>
  call(url, {
    headers: {
      "x-forwarded-for": `203.0.113.${++visits}`,
      ...(accepted === undefined ? {} : { "accept-language": accepted }),
      ...(form === undefined ? {} : { "content-type": "application/x-www-form-urlencoded" }),
    },
    ...(form === undefined ? {} : { method: "POST", body: form }),
  });

/**
 * The language of a page in its header and its HTML, and whether it says that it depends on the
 * visitor's.
 */
function languageOf({ headers, body }: ApiResponse) {
  const [, lang] = /<html lang="([\w-]+)" dir="ltr">/.exec(String(body)) ?? [];
  const varies = headers.get("vary")?.includes("Accept-Language") ?? false;
  return [headers.get("content-language"), lang, varies];
}

const GERMAN = ["de", "de", true];
const ENGLISH = ["en", "en", true];

describe("pages of short links", () => {
  test("differ, but redirects, robots.txt and the icon do not", async () => {
    for (const url of [await createLink(), short("/robots.txt"), short("/favicon.ico")]) {
      const [plain, german] = [await visit(url), await visit(url, { accepted: "de" })];
      expect([...german.headers.keys()].toSorted()).toEqual([...plain.headers.keys()].toSorted());
      expect([german.status, german.body]).toEqual([plain.status, plain.body]);
      expect(german.headers.get("vary")).toBeNull();
    }
  });
});

describe("pages of shared statistics", () => {
  test("are in German for those who read it, also without statistics", async () => {
    const { url } = await createShare();
    const { url: locked } = await createShare({ password: PASSWORD });
    const pages: [string, number, string, Visit?][] = [
      [url, 200, "Klicks im Zeitverlauf"],
      [`${url}?timezone=Atlantis`, 400, "Diese Zeitzone ist unbekannt."],
      [api("/shared/nothing"), 404, "keine Statistik"],
      [locked, 401, ">Passwort<"],
      [locked, 403, "Das Passwort ist falsch.", { form: "password=wrong" }],
    ];
    for (const [address, status, text, options] of pages) {
      const german = await visit(address, { ...options, accepted: "de-CH, en;q=0.5" });
      expect([address, german.status, languageOf(german)]).toEqual([address, status, GERMAN]);
      expect(german.body).toContain(text);
      const english = await visit(address, { ...options, accepted: "en-GB, de;q=0.5" });
      expect([address, english.status, languageOf(english)]).toEqual([address, status, ENGLISH]);
      expect(english.body).not.toContain(text);
    }
  });

  test("differ, but responses to programs do not", async () => {
    const { token } = await createShare();
    for (const path of [`/v1/shared/${token}`, "/v1/shared/nothing"]) {
      const [plain, german] = [await visit(api(path)), await visit(api(path), { accepted: "de" })];
      expect([german.status, german.body]).toEqual([plain.status, plain.body]);
      expect(german.headers.get("content-language")).toBeNull();
      expect(german.headers.get("vary") ?? "").not.toContain("Accept-Language");
    }
  });
});
