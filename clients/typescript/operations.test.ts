/** Goal: whatever the API can do, the client can do. */
import { expect, test } from "bun:test";

import { listFunctions, membersOf } from "../../test/harness/client-functions.ts";
import { fakeFetch } from "../../test/harness/fake-fetch.ts";
import { readDocument } from "./generate.ts";
import { type Client, createClient } from "./src/index.ts";
import type { operations } from "./src/schema.ts";

type Call = (client: Client) => Promise<unknown> | AsyncGenerator;

const LINK = "link_1";

/**
 * The functions that send each operation. The compiler rejects an operation that is missing here.
 */
const CALLS: Record<keyof operations, Call[]> = {
  createLink: [({ links }) => links.create({ url: "https://example.com/" })],
  listLinks: [({ links }) => links.list(), ({ links }) => links.all()],
  lookUpLink: [({ links }) => links.lookUp({ alias: "hello" })],
  getLink: [({ links }) => links.get(LINK), ({ links }) => links.getWithEtag(LINK)],
  updateLink: [({ links }) => links.update(LINK, {})],
  deleteLink: [({ links }) => links.delete(LINK)],
  getLinkQr: [({ links }) => links.qr(LINK)],
  upsertLink: [({ links }) => links.upsert("order-1", { url: "https://example.com/" })],
  rotateShare: [({ shares }) => shares.rotate("shr_1")],
  getLinkByExternalId: [({ links }) => links.getByExternalId("order-1")],
  updateLinkByExternalId: [({ links }) => links.updateByExternalId("order-1", { title: "T" })],
  deleteLinkByExternalId: [({ links }) => links.deleteByExternalId("order-1")],
  createLinks: [({ links }) => links.createMany([])],
  checkLinks: [({ links }) => links.checkMany([])],
  updateLinks: [({ links }) => links.updateMany([])],
  deleteLinks: [({ links }) => links.deleteMany([])],
  listTags: [({ tags }) => tags.list(), ({ tags }) => tags.all()],
  updateTag: [({ tags }) => tags.update("a", { color: "red" })],
  deleteTag: [({ tags }) => tags.delete("a")],
  mergeTags: [({ tags }) => tags.merge({ tags: ["a"], into: "b" })],
  getBranding: [({ branding }) => branding.get()],
  updateBranding: [({ branding }) => branding.update({ name: "Acme" })],
  listViews: [({ views }) => views.list()],
  saveView: [({ views }) => views.save("Phones", { query: "device=mobile" })],
  deleteView: [({ views }) => views.delete("Phones")],
  listLinkFilters: [({ linkFilters }) => linkFilters.list()],
  saveLinkFilter: [({ linkFilters }) => linkFilters.save("Spring", { query: "tag=spring" })],
  deleteLinkFilter: [({ linkFilters }) => linkFilters.delete("Spring")],
  listUtmTemplates: [({ utmTemplates }) => utmTemplates.list()],
  saveUtmTemplate: [({ utmTemplates }) => utmTemplates.save("Mails", { query: "utm_source=crm" })],
  deleteUtmTemplate: [({ utmTemplates }) => utmTemplates.delete("Mails")],
  createWebhook: [({ webhooks }) => webhooks.create({ url: "https://a.example/", events: ["*"] })],
  listWebhooks: [({ webhooks }) => webhooks.all()],
  getWebhook: [({ webhooks }) => webhooks.get("wh_1")],
  updateWebhook: [({ webhooks }) => webhooks.update("wh_1", { status: "paused" })],
  deleteWebhook: [({ webhooks }) => webhooks.delete("wh_1")],
  rotateWebhookSecret: [({ webhooks }) => webhooks.rotate("wh_1")],
  testWebhook: [({ webhooks }) => webhooks.test("wh_1")],
  listWebhookDeliveries: [({ webhooks }) => webhooks.deliveries("wh_1")],
  retryWebhookDelivery: [({ webhooks }) => webhooks.retry("wh_1", "dlv_1")],
  replayWebhook: [({ webhooks }) => webhooks.replay("wh_1", { starting_after: "event_1" })],
  listEvents: [({ events }) => events.list(), ({ events }) => events.follow()],
  createReport: [({ reports }) => reports.create({ name: "Weekly", period: "weekly" })],
  listReports: [({ reports }) => reports.all()],
  getReport: [({ reports }) => reports.get("rpt_1")],
  updateReport: [({ reports }) => reports.update("rpt_1", { status: "paused" })],
  deleteReport: [({ reports }) => reports.delete("rpt_1")],
  sendReport: [({ reports }) => reports.send("rpt_1")],
  listReportRuns: [({ reports }) => reports.runs("rpt_1")],
  explainLink: [({ links }) => links.explain(LINK)],
  getLinkAnalytics: [
    ({ analytics }) => analytics.summary(LINK),
    ({ analytics }) => analytics.csv.summary(LINK),
  ],
  getLinkGeo: [({ analytics }) => analytics.geo(LINK), ({ analytics }) => analytics.csv.geo(LINK)],
  getLinkDevices: [
    ({ analytics }) => analytics.devices(LINK),
    ({ analytics }) => analytics.csv.devices(LINK),
  ],
  getLinkReferrers: [
    ({ analytics }) => analytics.referrers(LINK),
    ({ analytics }) => analytics.csv.referrers(LINK),
  ],
  getLinkTargets: [
    ({ analytics }) => analytics.targets(LINK),
    ({ analytics }) => analytics.csv.targets(LINK),
  ],
  getLinkBreakdown: [
    ({ analytics }) => analytics.breakdown(LINK, { by: "country" }),
    ({ analytics }) => analytics.breakdownAll(LINK, { by: "country" }),
    ({ analytics }) => analytics.csv.breakdown(LINK, { by: "country" }),
  ],
  getLinkTimes: [
    ({ analytics }) => analytics.times(LINK),
    ({ analytics }) => analytics.csv.times(LINK),
  ],
  getAccountAnalytics: [
    ({ analytics }) => analytics.account(),
    ({ analytics }) => analytics.csv.account(),
  ],
  getAccountGeo: [
    ({ analytics }) => analytics.accountGeo(),
    ({ analytics }) => analytics.csv.accountGeo(),
  ],
  getAccountDevices: [
    ({ analytics }) => analytics.accountDevices(),
    ({ analytics }) => analytics.csv.accountDevices(),
  ],
  getAccountReferrers: [
    ({ analytics }) => analytics.accountReferrers(),
    ({ analytics }) => analytics.csv.accountReferrers(),
  ],
  getAccountBreakdown: [
    ({ analytics }) => analytics.accountBreakdown({ by: "country" }),
    ({ analytics }) => analytics.accountBreakdownAll({ by: "country" }),
    ({ analytics }) => analytics.csv.accountBreakdown({ by: "country" }),
  ],
  getAccountTimes: [
    ({ analytics }) => analytics.accountTimes(),
    ({ analytics }) => analytics.csv.accountTimes(),
  ],
  getFailures: [
    ({ analytics }) => analytics.failures(),
    ({ analytics }) => analytics.csv.failures(),
  ],
  streamLinkClicks: [({ analytics }) => analytics.stream(LINK)],
  getBulkAnalytics: [({ analytics }) => analytics.bulk({ link_ids: [LINK] })],
  listClicks: [
    ({ clicks }) => clicks.list(),
    ({ clicks }) => clicks.all(),
    ({ clicks }) => clicks.csv(),
  ],
  exportClicks: [({ clicks }) => clicks.export()],
  createDomain: [({ domains }) => domains.create("go.example.com")],
  listDomains: [({ domains }) => domains.all()],
  getDomain: [({ domains }) => domains.get("dom_1")],
  updateDomain: [({ domains }) => domains.update("dom_1", { root_url: null })],
  deleteDomain: [({ domains }) => domains.delete("dom_1")],
  verifyDomain: [({ domains }) => domains.verify("dom_1")],
  createApiKey: [({ keys }) => keys.create({ name: "CI", scopes: ["links:read"] })],
  listApiKeys: [({ keys }) => keys.all()],
  getApiKey: [({ keys }) => keys.get("key_1")],
  revokeApiKey: [({ keys }) => keys.revoke("key_1")],
  rotateApiKey: [({ keys }) => keys.rotate("key_1")],
  createShare: [({ shares }) => shares.create()],
  listShares: [({ shares }) => shares.all()],
  getShare: [({ shares }) => shares.get("share_1")],
  updateShare: [({ shares }) => shares.update("share_1", {})],
  revokeShare: [({ shares }) => shares.revoke("share_1")],
  getSharedStatistics: [({ shared }) => shared.get("token")],
  unlockSharedStatistics: [({ shared }) => shared.unlock("token", "secret")],
  getLimits: [(client) => client.limits()],
};

/** A copy of a client whose functions note that they were called. */
function noteCalls<Part extends object>(part: Part, called: Set<string>, prefix = ""): Part {
  const entries = membersOf(part).map(([name, member]) => [
    name,
    typeof member === "function"
      ? (...args: unknown[]) => {
          called.add(prefix + name);
          return Reflect.apply(member, part, args);
        }
      : noteCalls(Object(member), called, `${prefix}${name}.`),
  ]);
  return Object.fromEntries(entries);
}

/** Sends the first request of a call; its answer, which may be of any shape, does not matter. */
async function sendFirst(call: Call, client: Client): Promise<void> {
  const result = call(client);
  await ("next" in result ? result.next() : result);
}

test("every operation of the API is sent by a function, and every function sends the operation it names", async () => {
  const { paths } = await readDocument();
  const documented = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { operationId }]) => ({ method, path, operationId })),
  );
  expect(documented.map(({ operationId }) => operationId).toSorted()).toEqual(
    Object.keys(CALLS).toSorted(),
  );
  const sent: string[] = [];
  const client = createClient({
    baseUrl: "http://localhost",
    fetch: fakeFetch((request) => {
      const { pathname } = new URL(request.url);
      // A path without parameters goes before one with them, as in the API.
      const [operation] = documented
        .filter(
          ({ method, path }) => request.method.toLowerCase() === method && matches(path, pathname),
        )
        .toSorted((a, b) => countParameters(a.path) - countParameters(b.path));
      sent.push(operation?.operationId ?? pathname);
      const body = { data: [], next_cursor: null, done: true, changed: 0 };
      // An empty body is a stream that ends: the client would connect again.
      if (operation?.operationId === "streamLinkClicks") return new Response(EVENT);
      // An empty page of events has a next one: the client would wait for it.
      if (operation?.operationId === "listEvents")
        return Response.json({ data: [{}], has_more: false, next_cursor: "1" });
      return operation?.operationId === "exportClicks" ? new Response("") : Response.json(body);
    }),
  });
  const called = new Set<string>();
  const noted = noteCalls(client, called);
  for (const [operationId, calls] of Object.entries(CALLS)) {
    for (const call of calls) {
      await sendFirst(call, noted);
      expect([String(call), ...sent.splice(0)]).toEqual([String(call), operationId]);
    }
  }
  expect([...called].toSorted()).toEqual(listFunctions(client).toSorted());
});

const EVENT = "id: 1\nevent: click\ndata: {}\n\n";

const countParameters = (path: string): number => path.split("{").length;

const matches = (pattern: string, pathname: string): boolean => {
  const segments = pathname.split("/");
  const expected = pattern.split("/");
  return (
    expected.length === segments.length &&
    expected.every((part, i) => part.startsWith("{") || part === segments[i])
  );
};
