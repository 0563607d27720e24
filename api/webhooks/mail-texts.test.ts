/** Goal: a mail names the webhook and how to continue it, without secrets, and has no other markup. */
import { expect, test } from "bun:test";

import { newUuid } from "../../shared/ids.ts";
import { headerOf, partOf } from "../../test/harness/smtp.ts";
import { writeMail } from "../mail/queue.ts";
import type { MailOrigins } from "../mail/settings.ts";
import { composeDisabled, type DisabledWebhook } from "./mails.ts";

const WEBHOOK: DisabledWebhook = {
  id: "00000000-0000-0000-0000-000000000001",
  account_id: "00000000-0000-0000-0000-000000000002",
  account: "Shop",
  mode: "live",
  url: "https://hooks.example.com/shorthop",
  format: "standard",
  reason: "gone",
  language: null,
};

const ORIGINS: MailOrigins = {
  apiUrl: "https://api.example.com",
  dashboardUrl: "https://app.example.com",
};

const compose = (change: Partial<DisabledWebhook>, origins = ORIGINS) =>
  composeAll([{ ...WEBHOOK, ...change }], 1, origins);

async function composeAll(described: DisabledWebhook[], count: number, origins = ORIGINS) {
  const content = composeDisabled({ described, count }, origins);
  if (content === undefined) throw new Error("There is no mail.");
  const envelope = {
    id: newUuid(),
    from: "mails@shorthop.example",
    to: "ada@example.com",
    date: new Date("2026-03-02T08:10:00Z"),
  };
  const mail = { from: "", to: [], raw: (await writeMail(envelope, content)).toString() };
  return {
    header: (name: string) => headerOf(mail, name),
    text: partOf(mail, "text/plain"),
    html: partOf(mail, "text/html"),
  };
}

test("it says which webhook, why, and what to do, in text and HTML", async () => {
  const { header, text, html } = await compose({});
  const page = "https://app.example.com/acct_00000000000000000000000002/live/webhooks";
  expect(header("subject")).toBe("Webhook disabled: hooks.example.com");
  expect(header("auto-submitted")).toBe("auto-generated");
  expect(header("content-language")).toBe("en");
  for (const said of [
    "Events of the account “Shop” are no longer delivered to hooks.example.com/shorthop.",
    "The receiver responded that it is gone (410).",
    `choose “Continue” in the menu of the webhook:\n${page}`,
    "You get this mail because you own the account.",
  ])
    expect(text).toContain(said);
  expect(html).toContain(`<a href="${page}">Open the webhooks</a>`);
  expect(html).toContain("“Shop” are no longer delivered to hooks.example.com/shorthop.");
});

test("the other reason, the test mode, and an installation without a dashboard", async () => {
  const origins = { ...ORIGINS, dashboardUrl: undefined };
  const { text, html } = await compose({ reason: "failing", mode: "test" }, origins);
  expect(text).toContain("“Shop” in test mode are");
  expect(text).toContain("Every attempt failed for five days.");
  expect(text).toContain(
    'send PATCH https://api.example.com/v1/webhooks/wh_00000000000000000000000001 with {"status":"active"}.',
  );
  expect(html).not.toContain("<a ");
});

test("it is in the language of the account's reports, or English", async () => {
  const { header, text, html } = await compose({ language: "de" });
  expect(header("content-language")).toBe("de");
  expect(html).toContain('<html lang="de">');
  expect(text).toContain("Der Empfänger hat geantwortet, dass es ihn nicht mehr gibt (410).");
  expect((await compose({ language: "constructor" })).header("content-language")).toBe("en");
});

test.each([
  ["https://user:password@hooks.example.com/a?key=secret#secret", "standard"],
  ["https://hooks.example.com/services/secret", "slack"],
  ["https://hooks.example.com/api/webhooks/1/secret", "discord"],
] as const)("%s as %s is named without secrets", async (url, format) => {
  const { header, text, html } = await compose({ url, format });
  expect(header("subject")).toBe("Webhook disabled: hooks.example.com");
  for (const part of [text, html]) {
    expect(part).toContain("delivered to hooks.example.com");
    expect(part).not.toMatch(/secret|password/);
  }
});

test("what people wrote is text, and is cut", async () => {
  const label = "a".repeat(63);
  const url = `https://${label}.${label}.example.com/'<b>&amp;${"long/".repeat(300)}`;
  const account = `<img src=x onerror=alert(1)>\r\nBcc: eve@example.com`;
  const { header, text, html } = await compose({ url, account });
  expect(html).toContain(`<title>Webhook disabled: ${"a".repeat(59)}…</title>`);
  expect(header("bcc")).toBeUndefined();
  expect(html.match(/<img|<b>|'/g)).toBeNull();
  expect(html).toContain("&lt;img src=x onerror=alert(1)&gt;");
  expect(/delivered to (?<receiver>.*)\./.exec(text)?.groups?.["receiver"]).toHaveLength(120);
});

test("several are in one mail, and those beyond its length are counted", async () => {
  const other = { ...WEBHOOK, account: "Office", url: "https://office.example.com/in" };
  const { header, text } = await composeAll([WEBHOOK, other], 5);
  expect(header("subject")).toBe("Webhooks disabled: hooks.example.com and 4 others");
  expect(text).toContain("“Shop” are no longer delivered to hooks.example.com/shorthop.");
  expect(text).toContain("“Office” are no longer delivered to office.example.com/in.");
  expect(text).toContain("3 more webhooks were disabled.");
  expect(text.match(/Events from the meantime/g)).toHaveLength(1);
  expect(composeDisabled({ described: [], count: 0 }, ORIGINS)).toBeUndefined();
});
