/**
 * Goal: a report of real clicks reaches its feed, a chat and a mailbox, once; its recipient ends
 * that by one click; and an owner gets a mail when a webhook is disabled. Method: the whole stack,
 * with an SMTP server and receivers on loopback.
 */
import { expect, test } from "bun:test";

import fc from "fast-check";

import { createClient } from "../../clients/typescript/src/index.ts";
import { decodeId } from "../../shared/ids.ts";
import { reportContent } from "../../shared/reports/content.ts";
import { createAccount, withPostgres } from "../harness/admin.ts";
import { anyClick, insertClicks } from "../harness/analytics-reference.ts";
import { createUser } from "../harness/dashboard.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { longTest } from "../harness/property-runs.ts";
import { headerOf, partOf, SmtpServer } from "../harness/smtp.ts";
import { startStack } from "../harness/stack.ts";
import { WebhookReceiver } from "../harness/webhook-receiver.ts";

const WITHIN_MS = 30_000;
const DAY_MS = 86_400_000;

const smtp = await forFile(SmtpServer.start());
const stack = await forFile(
  startStack({ env: { SMTP_URL: smtp.url, SMTP_FROM: "reports@shorthop.example" } }),
);
const account = await createAccount(stack, "pro");

const { events, links, reports, webhooks } = createClient({
  baseUrl: stack.info().api_url,
  apiKey: account.key,
});

/** Clicks by people from Germany at days before the start of this week (UTC). */
function clicksBefore(days: readonly number[]) {
  const now = Date.now();
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  const monday = today - ((new Date(now).getUTCDay() + 6) % 7) * DAY_MS;
  const samples = fc.sample(anyClick(now, 1), { numRuns: days.length, seed: 1 });
  return samples.map((click, i) => ({
    ...click,
    at: monday - (days[i] ?? 0) * DAY_MS,
    link: 0,
    visitor: i,
    class: "human" as const,
    place: ["DE", "BE", "Berlin", "Berlin"] as const,
    referrer: "direct",
  }));
}

const mailsTo = (email: string) => smtp.received.filter(({ to }) => to.includes(email));

test("a report is an event, a message and a mail with the numbers of last week", async () => {
  await using receiver = new WebhookReceiver();
  const link = await links.create({ url: "https://example.com/", title: "Sale <b>" });
  // Three last week, two the week before, and one before that.
  await insertClicks(
    stack,
    account.id,
    [decodeId("link", link.id) ?? ""],
    clicksBefore([1, 2, 7, 8, 14, 15]),
  );
  await webhooks.create({ url: receiver.url, events: ["report.ready"], format: "slack" });
  const member = await createUser(stack, account.id, "viewer");
  const { id } = await reports.create({
    name: "Weekly",
    period: "weekly",
    link_id: link.id,
    emails: [member.email],
  });
  const run = await reports.send(id);
  expect(run.clicks).toBe(3);

  const feed = (await events.list({ type: ["report.ready"] })).data.map((event) => ({
    id: event.id,
    report: reportContent.parse(event.data["report"]),
  }));
  const [ready, ...others] = feed.filter(({ report }) => report.id === id);
  expect([ready?.id, others]).toEqual([run.event_id, []]);
  expect(ready?.report).toMatchObject({
    link: { link_id: link.id, title: "Sale <b>", short_url: link.short_url },
    clicks: { total: 3, before: 2, change: 50 },
    unique_clicks: { total: 3, before: 2, change: 50 },
    countries: [{ country: "DE", clicks: 3 }],
    referrers: [{ referrer: "direct", clicks: 3 }],
    failures: { total: 0 },
  });

  await eventually(
    async () => expect([receiver.got.length, mailsTo(member.email).length]).toEqual([1, 1]),
    WITHIN_MS,
  );
  expect(receiver.got[0]?.body).toContain("3 (+50 %, 2 before)");
  expect(receiver.got[0]?.body).toContain("The link Sale &lt;b&gt;");
  const [mail] = mailsTo(member.email);
  if (mail === undefined) throw new Error("No mail.");
  expect(partOf(mail, "text/plain")).toContain("Clicks: 3 (+50 %, 2 before)");
  expect(partOf(mail, "text/html")).toContain("Sale &lt;b&gt;");
  await eventually(
    async () =>
      expect((await reports.runs(id)).data).toMatchObject([
        { event_id: run.event_id, mails: { waiting: 0, sent: 1 } },
      ]),
    WITHIN_MS,
  );

  const url = /^<(?<url>.+)>$/.exec(headerOf(mail, "list-unsubscribe") ?? "")?.groups?.["url"];
  expect(url).toStartWith(`${stack.info().api_url}/unsubscribe/`);
  expect((await fetch(url ?? "")).status).toBe(200);
  expect((await reports.get(id)).emails).toEqual([member.email]);
  const unsubscribed = await fetch(url ?? "", {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "List-Unsubscribe=One-Click",
  });
  expect(unsubscribed.status).toBe(200);
  expect((await reports.get(id)).emails).toEqual([]);
  expect((await reports.send(id)).mails.waiting).toBe(0);
});

longTest("a report that is due is made by one of the processes, once", async () => {
  const { id } = await reports.create({ name: "Due", period: "monthly", emails: [] });
  await withPostgres(
    stack,
    (sql) => sql`update reports set due_at = now() - interval '1 minute' where name = 'Due'`,
  );
  await eventually(
    async () => expect((await reports.runs(id)).data).toMatchObject([{ requested: false }]),
    WITHIN_MS,
  );
  expect(Date.parse((await reports.get(id)).next_run_at ?? "")).toBeGreaterThan(Date.now());
});

longTest(
  "the owner of a webhook whose receiver is gone gets a mail that leads to the webhook",
  async () => {
    await using receiver = new WebhookReceiver(() => new Response("", { status: 410 }));
    const owner = await createUser(stack, account.id, "owner");
    const member = await createUser(stack, account.id, "member");
    const { id } = await webhooks.create({ url: receiver.url, events: ["link.created"] });
    await links.create({ url: "https://example.com/" });
    const disabled = { status: "disabled", disabled_reason: "gone" };
    await eventually(async () => expect(await webhooks.get(id)).toMatchObject(disabled), WITHIN_MS);
    // What happens within a minute is in one mail.
    await withPostgres(
      stack,
      (sql) => sql`
      update webhooks set disabled_at = disabled_at - interval '1 minute' where disabled_at is not null`,
    );
    await eventually(async () => expect(mailsTo(owner.email)).toHaveLength(1), WITHIN_MS);
    const [mail] = mailsTo(owner.email);
    if (mail === undefined) throw new Error("No mail.");
    expect(headerOf(mail, "subject")).toBe(`Webhook disabled: ${new URL(receiver.url).host}`);
    const page = `${stack.info().dashboard_url}/${account.id}/live/webhooks`;
    expect(partOf(mail, "text/plain")).toContain(page);
    expect(mailsTo(member.email)).toEqual([]);
  },
);
