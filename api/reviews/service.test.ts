/** Goal: links that exist are compared with lists once these change, and end up with an operator. */
import { beforeEach, expect, spyOn, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { processLog } from "../../shared/log.ts";
import { dirForFile, forFile } from "../../test/harness/for-file.ts";
import { anyVersion, startPostgres } from "../../test/harness/postgres.ts";
import { parseDestination } from "../links/destinations.ts";
import { HostLists } from "../links/host-lists.ts";
import type { CreateLinkBody } from "../links/model.ts";
import { findLinkByName } from "../links/takedown.ts";
import { addReview, decideReview, findReviews, HostListWatch, LinkReports } from "./service.ts";

const folder = dirForFile("reviews-");
const path = join(folder, "list");
const log = processLog("test", "silent");

const postgres = await forFile(startPostgres());
const owner = await postgres.addWriter();
beforeEach(async () => void (await postgres.sql`delete from link_reviews`));

async function addLink(url: string, settings: Partial<CreateLinkBody> = {}): Promise<Uuid> {
  const id = newUuid();
  await postgres.links.create(owner, id, { url, ...settings });
  return id;
}

const queue = async (all = false) =>
  (await findReviews(postgres.sql, all, 100)).map(({ link_id, list, verdict }) => ({
    link_id,
    list,
    verdict,
  }));

const isDown = async (id: Uuid) => {
  const [row] = await postgres.sql`select taken_down from links where id = ${id}`;
  return row?.["taken_down"] === true;
};

/** Compares all links with a list, as a process does that has just read it. */
async function compareWith(list: string, action: "review" | "take_down"): Promise<void> {
  writeFileSync(path, list);
  const lists = new HostLists({ DESTINATION_LISTS: [path], DESTINATION_LISTS_EXCEPT: [] }, log);
  await lists.refresh();
  const watch = new HostListWatch(postgres.sql, lists, action, log);
  watch.stop();
  while (await watch.compare());
}

test("links to a host on a changed list wait for an operator, once", async () => {
  const bad = await addLink("https://www.bad-one.example/path");
  await addLink("https://good-one.example/");
  await compareWith("||bad-one.example^", "review");
  const waiting = { link_id: bad, list: path, verdict: null };
  expect(await queue()).toEqual([waiting]);
  expect(await isDown(bad)).toBe(false);
  // The same contents are not compared again.
  await compareWith("||bad-one.example^", "review");
  expect(await queue()).toEqual([waiting]);
  expect(await decideReview(postgres.sql, bad, "kept")).toBe(true);
  await compareWith("||bad-one.example^\n# changed", "review");
  expect(await queue()).toEqual([]);
  expect(await queue(true)).toEqual([{ ...waiting, verdict: "kept" }]);
});

const fine = "https://fine.example/";
const rulesTo = (url: string) => [{ url, conditions: [{ type: "os" as const, in: ["iOS"] }] }];

test.each<[what: string, url: string, settings: Partial<CreateLinkBody>, isFound: boolean]>([
  ["a destination", "https://bad.example/", {}, true],
  ["a dot after the host", "https://bad.example./", {}, true],
  ["a port and a dot", "https://www.bad.example.:8443/", {}, true],
  ["a rule", fine, { rules: rulesTo("https://bad.example/") }, true],
  ["a rule in capitals", fine, { rules: rulesTo("HTTPS://BAD.EXAMPLE/") }, true],
  ["a rule with backslashes", fine, { rules: rulesTo("https:\\\\bad.example\\x") }, true],
  ["a rule without slashes", fine, { rules: rulesTo("https:bad.example") }, true],
  [
    "an arm of a split",
    fine,
    { split: { arms: [{ url: "Http://bad.example", weight: 1 }] } },
    true,
  ],
  ["an expired URL", fine, { expired_url: "https://bad.example.?x" }, true],
  ["a card's image", fine, { preview: { title: "t", image: "https:/bad.example/x.png" } }, true],
  ["a name that ends alike", "https://notbad.example/", {}, false],
  ["a host in a query", "https://fine.example/?to=https://bad.example/", {}, false],
  ["a host in a title", fine, { preview: { title: "https://bad.example/" } }, false],
])("%s on a list is found, however it is written", async (what, url, settings, isFound) => {
  const id = await addLink(url, settings);
  await compareWith(`||bad.example^\n# ${what}`, "review");
  expect((await queue()).some(({ link_id }) => link_id === id)).toBe(isFound);
});

test.each(["root_url", "not_found_url", "expired_url"])(
  "a domain whose %s comes to be on a list is named, once for each of its contents",
  async (field) => {
    const id = newUuid();
    const settings = { [field]: `https://${field}.example.`.replaceAll("_", "-") };
    await postgres.sql`
      insert into domains (id, account_id, mode, host, verification_value, settings)
      values (${id}, ${owner.accountId}, 'live', ${`${id}.example`}, '', ${postgres.sql.json(settings)})`;
    using warn = spyOn(log, "warn");
    const host = `${field}.example`.replaceAll("_", "-");
    for (const _ of [1, 2]) await compareWith(host, "review");
    const named = { domain: encodeId("dom", id), list: path };
    expect(warn.mock.calls).toEqual([[named, "domain_on_host_list"]]);
  },
);

test("they are taken down by themselves where that is configured", async () => {
  const bad = await addLink("https://bad-two.example/");
  await compareWith("0.0.0.0 bad-two.example", "take_down");
  expect(await isDown(bad)).toBe(true);
  expect(await queue()).toEqual([]);
  expect(await queue(true)).toMatchObject([{ link_id: bad, verdict: "taken_down" }]);
  const events = await postgres.sql`
    select actor from events where object_id = ${bad} and type = 'link.taken_down'`;
  expect(events.map(({ actor }) => actor)).toEqual([{ type: "system" }]);
});

test("an operator takes a link down that waits, and no other", async () => {
  const id = await addLink("https://other.example/");
  expect(await decideReview(postgres.sql, id, "taken_down")).toBe(false);
  await addReview(postgres.sql, id, path);
  expect(await decideReview(postgres.sql, id, "taken_down")).toBe(true);
  expect([await isDown(id), await queue()]).toEqual([true, []]);
});

test("no link is created or changed that leads to a host on a list", async () => {
  writeFileSync(path, "||listed.example^");
  const lists = new HostLists({ DESTINATION_LISTS: [path], DESTINATION_LISTS_EXCEPT: [] }, log);
  await lists.refresh();

  const rules = {
    allowPrivate: false,
    shortUrl: new URL("https://sho.rt"),
    ownHosts: new Set<string>(),
    lists,
  };
  const problem = expect.stringContaining("list of hosts");
  expect(parseDestination("https://a.listed.example/", rules)).toEqual({ problem });
  expect(parseDestination("https://a.unlisted.example/", rules)).toHaveProperty("host");
});

test("a link that visitors report waits with what they wrote, unless somebody has decided", async () => {
  const id = newUuid();
  await postgres.links.create(owner, id, { url: "https://example.com/", alias: "Reported" });
  const reports = new LinkReports(postgres.sql, new URL("https://sho.rt"), new Set(["sho.rt"]));
  for (const url of ["https://sho.rt/reported", "https://other.example/Reported", "none", ""])
    expect(await reports.report(url, "r")).toBe(false);
  for (let i = 1; i <= 25; i++)
    expect(await reports.report("https://sho.rt/Reported", `reason ${i}`)).toBe(true);
  const [review] = await findReviews(postgres.sql, false, 100);
  expect(review).toMatchObject({ link_id: id, list: null });
  expect([review?.reports.length, review?.reports.at(0)]).toEqual([20, "reason 1"]);
  expect(await decideReview(postgres.sql, id, "kept")).toBe(true);
  await reports.report("https://sho.rt/Reported", "again");
  expect(await queue()).toEqual([]);
  // It leads elsewhere now than where the operator has looked.
  await postgres.links.update(owner, id, { url: "https://other.example/" }, anyVersion);
  expect(await queue()).toEqual([]);
  await reports.report("https://sho.rt/Reported", "phishing");
  expect(await findReviews(postgres.sql, false, 100)).toMatchObject([
    { link_id: id, verdict: null, reports: ["phishing"] },
  ]);
  expect(await decideReview(postgres.sql, id, "taken_down")).toBe(true);
  await postgres.links.update(owner, id, { url: "https://example.com/" }, anyVersion);
  await reports.report("https://sho.rt/Reported", "again");
  expect(await queue()).toEqual([]);
});

test("a decision about a link on a list is no longer one when the link is changed", async () => {
  const id = await addLink("https://bad-three.example/");
  await compareWith("||bad-three.example^", "review");
  expect(await decideReview(postgres.sql, id, "kept")).toBe(true);
  await postgres.links.update(owner, id, { title: "changed" }, anyVersion);
  await compareWith("||bad-three.example^\n# changed", "review");
  expect(await queue()).toEqual([{ link_id: id, list: path, verdict: null }]);
});

test.each(["", "links.example.com"])(
  "no visitor makes the database read all links, of domain %p",
  async (domain) => {
    await postgres.sql.begin(async (sql) => {
      await sql`set local enable_seqscan = off`;
      const scans = async () =>
        (await sql`select pg_stat_get_xact_numscans('links'::regclass)::integer as scans`)[0];
      const before = await scans();
      expect(await findLinkByName(sql, { domain, alias: "nowhere" })).toBeUndefined();
      expect(await scans()).toEqual(before);
    });
  },
);
