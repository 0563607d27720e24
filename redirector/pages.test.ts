import { describe, expect, test } from "bun:test";

import { createPages } from "./pages.ts";

const styleOf = (body: string): string => /<style>(.*)<\/style>/s.exec(body)?.[1] ?? "";

describe("pages for people", () => {
  test("allow their own style by its hash, and nothing else", () => {
    const { headers, body } = createPages().message("not_found");
    const hash = new Bun.CryptoHasher("sha256").update(styleOf(body)).digest("base64");
    expect(headers["content-security-policy"]).toContain(`style-src 'sha256-${hash}'`);
    expect(headers["content-security-policy"]).toContain("default-src 'none'");
    expect(body).toContain("<title>Link not found</title>");
    expect(body).not.toMatch(/https?:|src=|\{\{/);
  });

  test("can be the operator's own, with the same protection", () => {
    const pages = createPages(
      "<style>p{color:red}</style><style>b{color:$&}</style><title>{{title}}</title><b>Acme</b>{{content}}",
    );
    const { status, headers, body } = pages.password("wrong", { "retry-after": "1" });
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
      createPages("{{title}}{{content}}").message("home").headers["content-security-policy"],
    ).toContain("style-src 'none'");
  });
});
