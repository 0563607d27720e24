/** Reports on a real PostgreSQL: who has them, when they are due, and that each is made once. */
import { beforeEach, describe, expect, test } from "bun:test";

import * as z from "zod";

import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { processLog } from "../../shared/log.ts";
import { reportContent } from "../../shared/reports/content.ts";
import { fakeService } from "../../test/harness/fake-service.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { outcomeOf } from "../../test/harness/outcomes.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import type { FailureService } from "../analytics/failures.ts";
import type { AnalyticsService } from "../analytics/service.ts";
import { deleteExpiredRows } from "../expired-rows.ts";
import { ApiError } from "../http/errors.ts";
import type { Principal } from "../http/principal.ts";
import { ReportMaker, ReportStatistics } from "./maker.ts";
import { toReportResponse } from "./model.ts";
import { ReportService } from "./service.ts";

const WEEKLY = { name: "Weekly", period: "weekly" } as const;

const ZERO = { total_clicks: 3, unique_clicks: 2, bot_clicks: 1 };

/** Called before statistics are computed. */
let onCompute: () => Promise<void>;

/** Statistics are tested end to end; here they are the same for everybody. */
const summary = {
  period: "custom" as const,
  summary: { ...ZERO, avg_daily_clicks: 0, clicks_per_day: 0, prefetch_clicks: 0 },
  clicks_over_time: [],
};
const span = { from: "2026-01-01T00:00:00.000Z", to: "2026-01-08T00:00:00.000Z" };
const compared = {
  ...summary,
  comparison: {
    ...summary,
    ...span,
    current: span,
    change: { total_clicks: 50, unique_clicks: null },
  },
};

const analytics: Partial<AnalyticsService> = {
  summary: async () => compared,
  account: async () => {
    await onCompute();
    return { ...compared, top_links: [] };
  },
  geo: async () => ({
    group_by: "country" as const,
    data: [{ country: "DE", country_name: "Germany", clicks: 3, percentage: 100 }],
  }),
  referrers: async () => ({ referrers: [{ source: "direct", clicks: 3, percentage: 100 }] }),
};

const failures: Partial<FailureService> = {
  count: async () => ({
    period: "custom" as const,
    summary: {
      total: 1,
      unknown_alias: 0,
      expired: 1,
      limit_reached: 0,
      wrong_password: 0,
      disabled: 0,
      not_started: 0,
    },
    failures_over_time: [],
    top_links: [],
    unknown_aliases: [],
  }),
};

/** Makes reports of these statistics. */
function makerOf(change: Partial<AnalyticsService> = {}, sendsMails = true): ReportMaker {
  const statistics = new ReportStatistics(
    fakeService("analytics", { ...analytics, ...change }),
    fakeService("failures", failures),
    postgres.links,
  );
  return new ReportMaker(postgres.sql, statistics, sendsMails, processLog("test", "silent"));
}

const postgres = await forFile(startPostgres());
const maker = makerOf();
const reports = new ReportService(postgres.sql, postgres.links, maker);

beforeEach(async () => {
  onCompute = () => Promise.resolve();
  await postgres.sql`delete from reports`;
});

async function addOwner(): Promise<Principal> {
  const callerId = newUuid();
  return {
    ...(await postgres.addWriter("free")),
    callerId,
    actor: { type: "api_key", id: callerId },
    scopes: ["analytics:read", "links:read"],
  };
}

const missing = () => Promise.reject(new ApiError("not_found", "The link does not exist."));

const makeOverdue = (id: Uuid) =>
  postgres.sql`update reports set due_at = now() - interval '1 second' where id = ${id}`;

const eventsOf = ({ accountId }: Principal) =>
  postgres.sql<
    { id: Uuid; object_id: Uuid; link_id: Uuid | null; data: unknown; actor: unknown }[]
  >`
    select id, object_id, link_id, data, actor from events
     where account_id = ${accountId} and type = 'report.ready' order by sequence`;

describe("a report", () => {
  test("is only made for who may read what it contains", async () => {
    const owner = await addOwner();
    const { id } = await reports.create(owner, newUuid(), WEEKLY);
    for (const scopes of [["analytics:read"], ["links:read"], []]) {
      const caller = { ...owner, scopes };
      expect(await outcomeOf(reports.create(caller, newUuid(), WEEKLY))).toBe("forbidden");
      expect(await outcomeOf(reports.update(caller, id, { name: "x" }))).toBe("forbidden");
      expect(await outcomeOf(reports.send(caller, id))).toBe("forbidden");
    }
  });

  test("is about a link of its account or a tag, not both", async () => {
    const [owner, other] = [await addOwner(), await addOwner()];
    const { link } = await postgres.links.create(owner, newUuid(), {
      url: "https://example.com/",
    });
    const link_id = encodeId("link", link.id);
    expect((await reports.create(owner, newUuid(), { ...WEEKLY, link_id })).link_id).toBe(link.id);
    expect(await outcomeOf(reports.create(other, newUuid(), { ...WEEKLY, link_id }))).toBe(
      "not_found",
    );
    const short_url = `sho.rt/${link.alias}`;
    const named = await reports.create(owner, newUuid(), { ...WEEKLY, short_url });
    expect(toReportResponse(named, "https://sho.rt")).toMatchObject({
      link_id,
      short_url: `https://${short_url}`,
    });
    expect(await outcomeOf(reports.create(other, newUuid(), { ...WEEKLY, short_url }))).toBe(
      "not_found",
    );
    const twice = { ...WEEKLY, link_id, short_url };
    expect(await outcomeOf(reports.create(owner, newUuid(), twice))).toBe("invalid_request");
    const both = { ...WEEKLY, link_id, tag: "spring" };
    expect(await outcomeOf(reports.create(owner, newUuid(), both))).toBe("invalid_request");
    const { id } = await reports.create(owner, newUuid(), { ...WEEKLY, tag: "spring" });
    expect(await outcomeOf(reports.update(owner, id, { link_id }))).toBe("invalid_request");
    expect(await reports.update(owner, id, { link_id, tag: null })).toMatchObject({
      tag: null,
      link_id: link.id,
    });
  });

  test("of which an account has twenty at most, also when many are created at once", async () => {
    const owner = await addOwner();
    const creations = Array.from({ length: 25 }, () =>
      outcomeOf(reports.create(owner, newUuid(), WEEKLY)),
    );
    const outcomes = await Promise.all(creations);
    expect(outcomes.filter((outcome) => outcome === "quota_exceeded").length).toBe(5);
  });

  test("is due at its next time after it was changed or continued, unless it is due already", async () => {
    const owner = await addOwner();
    const { id, due_at } = await reports.create(owner, newUuid(), WEEKLY);
    expect(due_at.getTime()).toBeGreaterThan(Date.now());
    expect([due_at.getUTCDay(), due_at.getUTCHours()]).toEqual([1, 8]);
    const later = await reports.update(owner, id, { hour: 9 });
    expect(later.due_at.getUTCHours()).toBe(9);
    await makeOverdue(id);
    const { due_at: overdue } = await reports.update(owner, id, { name: "Other", hour: 10 });
    expect(overdue.getTime()).toBeLessThan(Date.now());
    await reports.update(owner, id, { status: "paused" });
    const resumed = await reports.update(owner, id, { status: "active" });
    expect(resumed.due_at.getTime()).toBeGreaterThan(Date.now());
  });
});

describe("a report that is due", () => {
  test("is made once, also by two processes at once, with an event that has its content", async () => {
    const owner = await addOwner();
    const { id } = await reports.create(owner, newUuid(), { ...WEEKLY, tag: "spring" });
    await makeOverdue(id);
    let computed = 0;
    onCompute = async () => {
      computed += 1;
      await Bun.sleep(100);
    };
    await Promise.all([maker.makeDue(), maker.makeDue(), maker.makeDue()]);
    await maker.makeDue();
    expect(computed).toBe(1);
    const [event, ...more] = await eventsOf(owner);
    expect(more).toEqual([]);
    expect(event).toMatchObject({ object_id: id, link_id: null, actor: { type: "system" } });
    const { report } = z.object({ report: reportContent }).parse(event?.data);
    expect(report).toMatchObject({
      id: encodeId("rpt", id),
      tag: "spring",
      clicks: { total: 3, before: 3, change: 50 },
      unique_clicks: { total: 2, change: null },
      countries: [{ country: "DE", clicks: 3 }],
      referrers: [{ referrer: "direct", clicks: 3 }],
      failures: null,
    });
    expect((await reports.listRuns(owner, id)).map((run) => run.id)).toEqual([event?.id ?? ""]);
    expect((await reports.get(owner, id)).due_at.getTime()).toBeGreaterThan(Date.now());
  });

  test("is not made twice of one period, although nothing says when it is due", async () => {
    const owner = await addOwner();
    const { id, due_at } = await reports.create(owner, newUuid(), WEEKLY);
    for (let i = 0; i < 3; i++) {
      await makeOverdue(id);
      await maker.makeDue();
      expect((await reports.get(owner, id)).due_at).toEqual(due_at);
    }
    expect((await eventsOf(owner)).length).toBe(1);
    await makeOverdue(id);
    await reports.update(owner, id, { period: "monthly" });
    await maker.makeDue();
    expect((await eventsOf(owner)).length).toBe(2);
  });

  test("is made later when the process ends between, and what fails keeps no other waiting", async () => {
    const owner = await addOwner();
    const { id } = await reports.create(owner, newUuid(), WEEKLY);
    const other = await reports.create(owner, newUuid(), { ...WEEKLY, name: "Other" });
    await makeOverdue(id);
    let calls = 0;
    onCompute = () => {
      calls += 1;
      return calls === 1 ? Promise.reject(new Error("ClickHouse is away.")) : Promise.resolve();
    };
    await maker.makeDue();
    expect(await eventsOf(owner)).toBeEmpty();
    const { due_at, status } = await reports.get(owner, id);
    expect([status, due_at.getTime() > Date.now()]).toEqual(["active", true]);
    expect(due_at.getTime()).toBeLessThan(Date.now() + 6 * 60_000);
    for (const each of [id, other.id]) await makeOverdue(each);
    await maker.makeDue();
    expect((await eventsOf(owner)).length).toBe(2);
  });

  test("is not made while it is paused, nor after it was deleted while it is made", async () => {
    const owner = await addOwner();
    const { id } = await reports.create(owner, newUuid(), WEEKLY);
    await reports.update(owner, id, { status: "paused" });
    await makeOverdue(id);
    await maker.makeDue();
    await reports.update(owner, id, { status: "active" });
    await makeOverdue(id);
    onCompute = () => reports.remove(owner, id);
    await maker.makeDue();
    expect(await eventsOf(owner)).toBeEmpty();
  });

  test("is paused when its link has been deleted", async () => {
    const owner = await addOwner();
    const { link } = await postgres.links.create(owner, newUuid(), {
      url: "https://example.com/",
    });
    const link_id = encodeId("link", link.id);
    const { id } = await reports.create(owner, newUuid(), { ...WEEKLY, link_id });
    await makeOverdue(id);
    await makerOf({ summary: missing }).makeDue();
    expect((await reports.get(owner, id)).status).toBe("paused");
  });
});

describe("a report that is requested", () => {
  test("is made each time, by who requests it, and of the period that is due all the same", async () => {
    const owner = await addOwner();
    const { id } = await reports.create(owner, newUuid(), WEEKLY);
    const first = await reports.send(owner, id);
    const second = await reports.send(owner, id);
    expect([first.first_day, first.requested]).toEqual([second.first_day, true]);
    await makeOverdue(id);
    await maker.makeDue();
    const events = await eventsOf(owner);
    expect(events.map(({ actor }) => actor)).toMatchObject([
      { type: "api_key" },
      { type: "api_key" },
      { type: "system" },
    ]);
    const runs = await reports.listRuns(owner, id);
    expect(runs.map((run) => run.id)).toEqual(events.map((event) => event.id).toReversed());
  });

  test("is limited for each account", async () => {
    const [owner, other] = [await addOwner(), await addOwner()];
    const { id } = await reports.create(owner, newUuid(), WEEKLY);
    for (let i = 0; i < 10; i++) await reports.send(owner, id);
    expect(await outcomeOf(reports.send(owner, id))).toBe("rate_limited");
    const { id: others } = await reports.create(other, newUuid(), WEEKLY);
    expect(await outcomeOf(reports.send(other, others))).toBe("done");
  });
});

const addMember = ({ accountId }: Principal, isConfirmed = true) =>
  postgres.addMember(accountId, "viewer", isConfirmed);

describe("recipients", () => {
  test("are members of the account with confirmed addresses, and nobody else", async () => {
    const [owner, other] = [await addOwner(), await addOwner()];
    const [member, stranger] = [await addMember(owner), await addMember(other)];
    const unconfirmed = await addMember(owner, false);
    const create = (...emails: string[]) => reports.create(owner, newUuid(), { ...WEEKLY, emails });
    for (const { email } of [stranger, unconfirmed, { email: "nobody@example.com" }])
      expect(await outcomeOf(create(member.email, email))).toBe("invalid_request");
    const { id, emails } = await create(member.email.toUpperCase(), member.email);
    expect(emails).toEqual([member.email]);
    const change = { emails: [stranger.email] };
    expect(await outcomeOf(reports.update(owner, id, change))).toBe("invalid_request");
    expect((await reports.update(owner, id, { name: "Other" })).emails).toEqual([member.email]);
    expect((await reports.update(owner, id, { emails: [] })).emails).toEqual([]);
  });

  test("get a mail of each run, as long as they are members", async () => {
    const owner = await addOwner();
    const [stays, leaves] = [await addMember(owner), await addMember(owner)];
    const emails = [stays.email, leaves.email];
    const { id } = await reports.create(owner, newUuid(), { ...WEEKLY, emails });
    expect((await reports.send(owner, id)).mails).toEqual({
      waiting: 2,
      sent: 0,
      failed: 0,
      unknown: 0,
    });
    await postgres.sql`delete from members where user_id = ${leaves.id}`;
    expect((await reports.get(owner, id)).emails).toEqual([stays.email]);
    await makeOverdue(id);
    await maker.makeDue();
    expect((await reports.listRuns(owner, id)).map(({ mails }) => mails.waiting)).toEqual([1, 2]);
  });

  test("are refused where no mails are sent, and none are made", async () => {
    const owner = await addOwner();
    const { email } = await addMember(owner);
    const silent = new ReportService(postgres.sql, postgres.links, makerOf({}, false));
    const creation = silent.create(owner, newUuid(), { ...WEEKLY, emails: [email] });
    expect(await outcomeOf(creation)).toBe("unavailable");
    const { id } = await reports.create(owner, newUuid(), { ...WEEKLY, emails: [email] });
    expect((await silent.send(owner, id)).mails.waiting).toBe(0);
  });
});

test("runs are deleted after 400 days", async () => {
  const owner = await addOwner();
  const { id } = await reports.create(owner, newUuid(), WEEKLY);
  const [old, kept] = [await reports.send(owner, id), await reports.send(owner, id)];
  await postgres.sql`update report_runs set created_at = now() - interval '401 days' where id = ${old.id}`;
  await deleteExpiredRows(postgres.sql);
  expect((await reports.listRuns(owner, id)).map((run) => run.id)).toEqual([kept.id]);
});
