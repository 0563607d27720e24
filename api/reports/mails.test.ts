/** Goal: what people wrote is text in a mail, and nothing else. */
import { expect, test } from "bun:test";

import { newUuid } from "../../shared/ids.ts";
import { REPORT_CONTENT } from "../../test/harness/report-content.ts";
import { headerOf, partOf } from "../../test/harness/smtp.ts";
import { writeMail } from "../mail/queue.ts";
import { composeReport } from "./mails.ts";

const HOSTILE = `<img src=x onerror=alert(1)>"'&</td> Ünï`;

const compose = async (change: Partial<typeof REPORT_CONTENT>) => {
  const content = composeReport(
    { ...REPORT_CONTENT, ...change },
    "https://api.example.com/unsubscribe/x",
  );
  const envelope = {
    id: newUuid(),
    from: "reports@shorthop.example",
    to: "ada@example.com",
    date: new Date("2026-03-02T08:10:00Z"),
  };
  return { from: "", to: [], raw: (await writeMail(envelope, content)).toString() };
};

test("names, titles and referrers are escaped in HTML, and plain in text", async () => {
  const mail = await compose({
    name: HOSTILE,
    tag: HOSTILE,
    top_links: [
      { link_id: "link_1", short_url: `https://sho.rt/"><b>`, title: HOSTILE, clicks: 1 },
    ],
    referrers: [{ referrer: HOSTILE, clicks: 1 }],
  });
  const html = partOf(mail, "text/html");
  expect(html.match(/<img|<b>|onerror=alert\(1\)>"/g)).toBeNull();
  expect(
    html.split("&lt;img src=x onerror=alert(1)&gt;&quot;&#x27;&amp;&lt;/td&gt; Ünï").length,
  ).toBe(6);
  expect(partOf(mail, "text/plain")).toContain(`- ${HOSTILE}: 1\n`);
});

test("no text becomes a header", async () => {
  const mail = await compose({ name: "a\r\nBcc: eve@example.com\r\n\r\nbody" });
  expect(headerOf(mail, "bcc")).toBeUndefined();
  expect(headerOf(mail, "to")).toBe("ada@example.com");
});

test("a mail is in the report's language", async () => {
  const mail = await compose({ language: "de" });
  expect(headerOf(mail, "content-language")).toBe("de");
  expect(partOf(mail, "text/html")).toContain('<html lang="de">');
  expect(partOf(mail, "text/plain")).toContain("Klicks: 1.312 (+4,1 %, vorher 1.260)");
});
