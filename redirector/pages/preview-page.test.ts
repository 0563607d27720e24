import { expect, test } from "bun:test";

import { previewPage } from "./about-page.ts";

const SHORT_URL = "https://sho.rt/abc";

test("a card has what agents read", () => {
  const { status, body } = previewPage(
    { title: "Sale", description: "All must go", image: "https://example.com/a.png" },
    SHORT_URL,
  );
  const html = body.toString();
  expect(status).toBe(200);
  for (const [name, content] of [
    ["og:title", "Sale"],
    ["og:description", "All must go"],
    ["og:image", "https://example.com/a.png"],
    ["og:url", SHORT_URL],
    ["og:type", "website"],
  ])
    expect(html).toContain(`<meta property="${name}" content="${content}">`);
  expect(html).toContain('name="twitter:card" content="summary_large_image"');
});

test("what a card lacks is left out", () => {
  const html = previewPage({ title: "Sale" }, SHORT_URL).body.toString();
  expect(html).not.toMatch(/description|og:image/);
  expect(html).toContain('content="summary"');
});

test("everything is escaped", () => {
  const hostile = `"><script>alert(1)</script>'&`;
  const html = previewPage(
    { title: hostile, description: hostile, image: `https://example.com/"><script>` },
    `https://sho.rt/abc"><script>`,
  ).body.toString();
  expect(html).not.toContain("<script");
  expect(html).toContain("&quot;&gt;&lt;script&gt;");
});
