import { describe, expect, test } from "bun:test";

import { CATALOGUES } from "../../shared/languages/catalogues.ts";
import { listWords, MarkedCatalogue } from "../../test/harness/marked-catalogue.ts";
import { ErrorPages, type LanguagePages } from "./error-pages.ts";
import { TEMPLATE } from "./template.ts";

/** The language of a request with this `Accept-Language`. */
const headOf = (accepted = "") => ({
  bytes: Buffer.from(accepted),
  language: { start: 0, end: accepted.length },
});

const pagesOf = (accepted?: string, template?: string): LanguagePages =>
  new ErrorPages(template).of(headOf(accepted));

const MESSAGES = Object.keys(CATALOGUES["en"]?.redirector.messages ?? {}) as Parameters<
  LanguagePages["message"]
>[0][];

/** Every page, and the data in it that is the link's or formatted by `Intl`. */
function renderAll(pages: LanguagePages) {
  const now = Date.UTC(2030, 5, 15);
  const link = {
    destination: "https://example.com/",
    title: "Sale",
    createdAt: now - 3 * 86_400_000,
    hostChangedAt: now,
    path: "/abc",
  };
  const responses = [
    ...MESSAGES.map((name) => pages.message(name)),
    ...(["required", "wrong", "limited", "busy"] as const).map((state) => pages.password(state)),
    pages.confirmation(),
    ...[true, false].map((varies) => pages.about({ ...link, varies }, now)),
  ];
  const data = [
    link.destination,
    "example.com",
    "Sale",
    "June 12, 2030",
    "June 15, 2030",
    "3 days ago",
  ];
  return { responses, bodies: responses.map(({ body }) => body.toString()), data };
}

const styleOf = (body: string): string => /<style>(.*)<\/style>/s.exec(body)?.[1] ?? "";

describe("error pages", () => {
  test("allow only their own style, by its hash", () => {
    const { headers, body: bytes } = pagesOf().message("not_found");
    const body = bytes.toString();
    const hash = new Bun.CryptoHasher("sha256").update(styleOf(body)).digest("base64");
    expect(headers["content-security-policy"]).toContain(`style-src 'sha256-${hash}'`);
    expect(headers["content-security-policy"]).toContain("default-src 'none'");
    expect(body).toContain("<title>Link not found</title>");
    expect(body).not.toMatch(/https?:|src=|\{\{/);
  });

  test("use the operator's template, with the same policy", () => {
    const pages = pagesOf(
      "de",
      "<style>p{color:red}</style><style>b{color:$&}</style><title>{{title}}</title><b>Acme</b>{{content}}",
    );
    const { status, headers, body: bytes } = pages.password("wrong", { "retry-after": "1" });
    const body = bytes.toString();
    expect(status).toBe(401);
    expect(body).toStartWith("<style>p{color:red}</style>");
    expect(body).toContain("<title>This link needs a password</title>");
    expect(body).toContain('<form method="post">');
    expect(headers["retry-after"]).toBe("1");
    // A 401 must have a challenge; this one makes no browser ask in a dialog.
    expect(headers["www-authenticate"]).toBe('Cookie realm="link"');
    for (const state of ["limited", "busy"] as const)
      expect(Object.keys(pages.password(state).headers)).not.toContain("www-authenticate");
    for (const style of ["p{color:red}", "b{color:$&}"]) {
      const hash = new Bun.CryptoHasher("sha256").update(style).digest("base64");
      expect(headers["content-security-policy"]).toContain(hash);
    }
    expect(
      pagesOf("", "{{title}}{{content}}").message("home").headers["content-security-policy"],
    ).toContain("style-src 'none'");
  });

  test("are rendered once, however often they are sent", () => {
    const pages = new ErrorPages();
    const [first, second] = [1, 2].map((wait) =>
      pages.of(headOf("de")).message("not_found", { "retry-after": `${wait}` }),
    );
    expect(second?.body).toBe(first?.body as Buffer);
    const form = pages.of(headOf()).password("required");
    expect(pages.of(headOf("en")).password("required").body).toBe(form.body);
  });

  test("with a form carry the referrer of the visit, as text", () => {
    const pages = pagesOf("", "{{title}}{{content}}");
    const referrer = `https://example.org/"><b>'&`;
    for (const page of [pages.confirmation(referrer), pages.password("required", {}, referrer)])
      expect(page.body.toString()).toContain(
        '<input name="referrer" type="hidden" value="https://example.org/&quot;&gt;&lt;b&gt;&#x27;&amp;">',
      );
    for (const page of [pages.confirmation(), pages.password("required")])
      expect(page.body.toString()).not.toContain("referrer");
  });
});

describe("the language of pages", () => {
  test("is the visitor's, and pages say that they depend on it", () => {
    for (const [accepted, code] of [
      ["de-AT,en;q=0.5", "de"],
      ["fr", "en"],
      ["", "en"],
    ] as const) {
      const { responses, bodies } = renderAll(pagesOf(accepted));
      for (const { headers } of responses)
        expect([headers["content-language"], headers["vary"]]).toEqual([code, "Accept-Language"]);
      for (const body of bodies) expect(body).toContain(`<html lang="${code}" dir="ltr">`);
    }
    const german = pagesOf("de").password("wrong").body.toString();
    expect(german).toContain("<title>Dieser Link ist mit einem Passwort geschützt</title>");
    expect(german).toContain('<p role="alert">Das Passwort ist falsch.</p>');
  });

  test("is also that of an operator's template that has a place for it", () => {
    const html = '<html lang="{{lang}}" dir="{{dir}}"><title>{{title}}</title>{{content}}';
    const body = pagesOf("de", html).message("expired").body.toString();
    expect(body).toStartWith('<html lang="de" dir="ltr"><title>Link abgelaufen</title>');
  });

  test("is English in an operator's template of one language, without a header that says so", () => {
    const { headers, body } = pagesOf("de", "<p>Ciao</p>{{title}}{{content}}").message("expired");
    expect(body.toString()).toStartWith("<p>Ciao</p>Link expired");
    expect([headers["content-language"], headers["vary"]]).toEqual([undefined, undefined]);
  });

  test("has all texts in its catalogue, and every text of the catalogue is on a page", () => {
    const marked = new MarkedCatalogue();
    const { catalogue } = marked;
    const pages = new ErrorPages(TEMPLATE, { en: catalogue }).of(headOf());
    const { bodies, data } = renderAll(pages);
    for (const body of bodies) {
      expect(listWords(body, data)).toEqual([]);
      expect(body).toMatch(/<title>\[\d+\]<\/title>/);
    }
    const link = { destination: "", varies: false, createdAt: 0, path: "", reportUrl: "/" };
    const today = pages.about(link, 0);
    expect(marked.listUnused("redirector", [...bodies, today.body.toString()])).toEqual([]);
  });
});
