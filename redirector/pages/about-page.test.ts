import { expect, test } from "bun:test";

import { DAY_MS } from "../../shared/durations.ts";
import { newUuid } from "../../shared/ids.ts";
import { CATALOGUES, FALLBACK } from "../../shared/languages/catalogues.ts";
import { textsOf } from "../../shared/languages/messages.ts";
import { AboutContent, type AboutLink, creationTimeOf, previewPage } from "./about-page.ts";

const NOW = Date.UTC(2030, 5, 15, 12);

function about(change: Partial<AboutLink> = {}, code = FALLBACK): string {
  const catalogue = CATALOGUES[code];
  if (catalogue === undefined) throw new Error(`There is no language ${code}.`);
  const texts = textsOf(code, catalogue.redirector.about);
  const link = { destination: "https://example.com/a?b=1&c", varies: false, path: "/abc" };
  return new AboutContent(code, texts).render({ ...link, ...change }, NOW);
}

test("the page names site and address, and follows nothing by itself", () => {
  const content = about();
  expect(content).toContain("<strong>example.com</strong>");
  expect(content).toContain("https://example.com/a?b=1&amp;c");
  expect(content).toContain('href="/abc"');
  expect(content).not.toMatch(/<(?:script|meta|img|iframe)|href="https/);
  expect(content).not.toContain("Title");
});

test("title, age and the last change of the site are shown where they are known", () => {
  const content = about({
    title: "Sale",
    createdAt: NOW - 3 * DAY_MS,
    hostChangedAt: NOW - DAY_MS - 1,
    varies: true,
  });
  expect(content).toContain("<dd>Sale</dd>");
  expect(content).toContain("June 12, 2030</time> (3 days ago)");
  expect(content).toContain("June 14, 2030</time> (1 day ago)");
  expect(content).toContain("other addresses");
  expect(content).toContain("Sites last changed");
  expect(about({ hostChangedAt: NOW })).toContain("Leads to this site since");
  expect(about({ createdAt: NOW + 1 })).toContain("less than a day ago");
  const german = about({ createdAt: NOW - 3 * DAY_MS }, "de");
  expect(german).toContain('<time datetime="2030-06-12">12. Juni 2030</time> (vor 3 Tagen)');
});

test("a link is reported where somebody can", () => {
  expect(about()).not.toContain("Report");
  const reportUrl = "https://api.example/report-link?url=https%3A%2F%2Fsho.rt%2Fabc";
  expect(about({ reportUrl })).toContain(
    `<a href="${reportUrl}" rel="nofollow">Report this link</a>`,
  );
  expect(about({ reportUrl }, "de")).toContain("Diesen Link melden");
});

test("everything is escaped, and bounded", () => {
  const content = about({
    title: `<img src=x onerror=alert(1)>"'&`,
    destination: `https://example.com/'"<${"&".repeat(20_000)}`,
    path: `/a"><script>`,
  });
  expect(content).not.toMatch(/<(?:img|script)/);
  expect(content.length).toBeLessThan(60_000);
});

test("a link's creation is in its id", () => {
  const before = Date.now();
  const created = creationTimeOf(newUuid());
  expect(created).toBeWithin(before - 1, Date.now() + 1);
  expect(creationTimeOf("0190a5a2-0000-4000-8000-000000000001")).toBeUndefined();
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
