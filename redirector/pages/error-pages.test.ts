import { describe, expect, test } from "bun:test";

import { PAGE_BYTES_MAX } from "../http/response.ts";
import { createErrorPages, TemplateError } from "./error-pages.ts";

const styleOf = (body: string): string => /<style>(.*)<\/style>/s.exec(body)?.[1] ?? "";

describe("error pages", () => {
  test("allow only their own style, by its hash", () => {
    const { headers, body: bytes } = createErrorPages().message("not_found");
    const body = bytes.toString();
    const hash = new Bun.CryptoHasher("sha256").update(styleOf(body)).digest("base64");
    expect(headers["content-security-policy"]).toContain(`style-src 'sha256-${hash}'`);
    expect(headers["content-security-policy"]).toContain("default-src 'none'");
    expect(body).toContain("<title>Link not found</title>");
    expect(body).not.toMatch(/https?:|src=|\{\{/);
  });

  test("use the operator's template, with the same policy", () => {
    const pages = createErrorPages(
      "<style>p{color:red}</style><style>b{color:$&}</style><title>{{title}}</title><b>Acme</b>{{content}}",
    );
    const { status, headers, body: bytes } = pages.password("wrong", { "retry-after": "1" });
    const body = bytes.toString();
    expect(status).toBe(401);
    expect(body).toStartWith("<style>p{color:red}</style>");
    expect(body).toContain("<title>This link needs a password</title>");
    expect(body).toContain('<form method="post">');
    expect(headers["retry-after"]).toBe("1");
    for (const style of ["p{color:red}", "b{color:$&}"]) {
      const hash = new Bun.CryptoHasher("sha256").update(style).digest("base64");
      expect(headers["content-security-policy"]).toContain(hash);
    }
    expect(
      createErrorPages("{{title}}{{content}}").message("home").headers["content-security-policy"],
    ).toContain("style-src 'none'");
  });

  test("are rendered once, however often they are sent", () => {
    const pages = createErrorPages();
    const [first, second] = [1, 2].map((wait) =>
      pages.message("not_found", { "retry-after": `${wait}` }),
    );
    expect(second?.body).toBe(first?.body as Buffer);
    expect(pages.password("required").body).toBe(pages.password("required").body);
  });

  test("may be large, and a template that makes them too large is rejected", () => {
    const padding = "x".repeat(200 * 1024);
    const { body } = createErrorPages(`{{title}}{{content}}${padding}`).message("expired");
    expect(body.length).toBeGreaterThan(200 * 1024);
    expect(() => createErrorPages(`{{title}}{{content}}${"x".repeat(PAGE_BYTES_MAX)}`)).toThrow(
      TemplateError,
    );
    expect(() => createErrorPages("{{title}}{{content}}".repeat(10_000))).toThrow(TemplateError);
    expect(() => createErrorPages(`{{title}}{{content}}${"<style></style>".repeat(33)}`)).toThrow(
      TemplateError,
    );
  });
});
