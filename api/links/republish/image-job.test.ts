/**
 * Goal: an image has what the feed has, and together with what is published behind its position it
 * is what PostgreSQL has, whatever changes while it is made. Method: real PostgreSQL and NATS.
 */
import { Database } from "bun:sqlite";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { LinkRecord } from "../../../shared/contracts/link-record.ts";
import {
  decodeLinkMessage,
  LINKS_STREAM,
  linkSubject,
  shortLinkOfSubject,
} from "../../../shared/contracts/streams.ts";
import { newUuid, type Uuid } from "../../../shared/ids.ts";
import { type Images, openImages } from "../../../shared/links-store/images.ts";
import { readFeed } from "../../../shared/links-store/schema.ts";
import { decodeStoredRecord } from "../../../shared/links-store/stored-record.ts";
import { createLog } from "../../../shared/log.ts";
import { eventually } from "../../../test/harness/eventually.ts";
import { type FeedStores, keepFeed, startFeedStores } from "../../../test/harness/links-feed.ts";
import { recordIncomplete } from "../../feed/sql.ts";
import { changeTakedowns } from "../../takedowns/service.ts";
import { type ImagesJob, startImages } from "./image-job.ts";
import { buildImage } from "./image.ts";

setDefaultTimeout(120_000);

const WITHIN_MS = 30_000;
const INTERVAL_MS = 100;

/** More than a turn of building. */
const LINKS = 1_100;

const log = createLog("test", "silent");
const never = new AbortController().signal;

let stores: FeedStores;
let api: ReturnType<typeof keepFeed>;
let dir: string;
let images: Images;
let jobs: ImagesJob[];

beforeAll(async () => {
  stores = await startFeedStores();
  const { sql, owner } = stores;
  await stores.addLinks(LINKS);
  const domain = newUuid();
  await sql`
    insert into domains (id, account_id, mode, host, verification_value, verified_at, version, case_sensitive, settings)
    values (${domain}, ${owner.accountId}, 'live', 'go.example.com', 'value', now(), 5, false,
            ${sql.json({ root_url: "https://example.com/" })})`;
  await stores.addLinks(20, "Mixed-Case", domain);
  await changeTakedowns(sql, "host", "evil.example", true);
  api = keepFeed(stores);
  await eventually(async () => expect(api.watch.complete()).toBe(true), WITHIN_MS);
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await stores[Symbol.asyncDispose]();
});
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "shorthop-images-"));
  images = requireImages();
  jobs = [];
});
afterEach(async () => {
  await Promise.all(jobs.map((job) => job.stop()));
  rmSync(dir, { recursive: true });
});

function requireImages(): Images {
  const opened = openImages({ LINKS_IMAGES: dir });
  if (opened === undefined) throw new Error("There is no place.");
  return opened;
}

const source = () => ({ ...stores, isStopped: () => false });

/** What a file has of each link and notice. */
function readImage(path: string) {
  using db = new Database(path, { readonly: true, strict: true });
  const rows = db.query<{ key: string; record: Uint8Array }, []>("SELECT key, record FROM links");
  const records = rows.all().map(({ key, record }) => [key, decodeStoredRecord(record)] as const);
  return { feed: readFeed(db), records: new Map<string, LinkRecord>(records) };
}

/** What the stream has of each link and notice, from a sequence number on. */
async function readStream(from: number): Promise<Map<string, LinkRecord>> {
  const records = new Map<string, LinkRecord>();
  const consumer = await stores.connection
    .jetstream()
    .consumers.get(LINKS_STREAM, { opt_start_seq: from });
  const { num_pending: count } = await consumer.info();
  if (count === 0) return records;
  let left = count;
  for await (const { subject, data } of await consumer.consume()) {
    const link = shortLinkOfSubject(subject);
    const record = decodeLinkMessage(subject, data);
    if (link !== undefined && record !== undefined)
      records.set(`${link.domain}/${link.alias}`, record);
    if (--left === 0) break;
  }
  return records;
}

const withoutDeleted = (records: Map<string, LinkRecord>): Map<string, LinkRecord> =>
  new Map([...records].filter(([key, { state }]) => state === "active" || key.includes("@")));

test("an image has what the feed has of each link, domain and takedown, and where it ends", async () => {
  const path = join(dir, "image");
  const built = await buildImage(source(), path);
  expect(built?.links).toBe(LINKS + 20);
  const { feed: state, records } = readImage(path);
  expect(records).toEqual(withoutDeleted(await readStream(1)));
  expect(records.get("go.example.com/mixed-case-1")).toMatchObject({ state: "active" });
  expect(records.get("go.example.com/@domain")).toBeDefined();
  expect(records.get("/@takedowns")).toMatchObject({ takedowns: { hosts: ["evil.example"] } });
  const { epoch, sequence } = built ?? {};
  expect(state).toMatchObject({ complete: true, epoch: epoch ?? 0, sequence: sequence ?? 0 });
});

test("what changes while an image is made is published behind its position", async () => {
  const { sql, links, owner } = stores;
  const ids = await sql<{ id: Uuid }[]>`
    select id from links where domain_id is null order by alias collate "C"`;
  let changed = 0;
  /** Changes links of all places in the image, in a pause of building. */
  async function change(): Promise<void> {
    const i = changed++;
    const at = (part: number) => ids[Math.floor(part * ids.length) + i]?.id ?? newUuid();
    await links.create(owner, newUuid(), { url: "https://example.com/new", alias: `new-${i}` });
    await links.remove(owner, at(0.1));
    await links.update(owner, at(0.9), { url: "https://example.com/changed" });
  }
  const path = join(dir, "image");
  let building = true;
  const built = buildImage(source(), path).finally(() => (building = false));
  while ((building && changed < 100) || changed < 5) await change();
  const { sequence = 0 } = (await built) ?? {};
  await eventually(async () => expect((await api.feed.outboxStats()).pending).toBe(0), WITHIN_MS);
  const { records } = readImage(path);
  for (const [key, record] of await readStream(sequence + 1))
    if (record.version > (records.get(key)?.version ?? 0)) records.set(key, record);
  const rows = await sql<{ alias: string; target_url: string }[]>`
    select alias, target_url from links where domain_id is null`;
  const expected = new Map<string, string>(
    rows.map(({ alias, target_url }) => [`/${alias}`, target_url]),
  );
  const active = [...records.values()].flatMap((record) =>
    record.state === "active" && record.domain === ""
      ? [[`/${record.alias}`, record.destination] as const]
      : [],
  );
  expect(changed).toBeGreaterThan(4);
  expect(new Map<string, string>(active)).toEqual(expected);
});

test("a link that a message no longer fits has in an image what the feed has of it", async () => {
  const subject = linkSubject({ domain: "", alias: "link-7" });
  const { data } = await stores.manager.streams.getMessage(LINKS_STREAM, { last_by_subj: subject });
  const extras = { expired_url: `https://example.com/${"x".repeat(70_000)}` };
  const { sql } = stores;
  await sql`update links set extras = ${sql.json(extras)} where alias = 'link-7'`;
  const path = join(dir, "image");
  await buildImage(source(), path);
  expect(readImage(path).records.get("/link-7")).toEqual(decodeLinkMessage(subject, data));
  await sql`update links set extras = null where alias = 'link-7'`;
});

test("no image is made of a time when the stream lacks links", async () => {
  await recordIncomplete(stores.sql, 0);
  expect(await buildImage(source(), join(dir, "image"))).toBeUndefined();
  let attempts = 0;
  await eventually(async () => {
    const built = await buildImage(source(), join(dir, `image-${attempts++}`));
    expect(built).toBeDefined();
  }, WITHIN_MS);
});

test("of several processes one makes an image, when the last is a day old, and old ones go", async () => {
  const yesterday = new Date(Date.now() - 25 * 3_600_000).toISOString().replaceAll(":", "-");
  for (const made of ["2026-01-01T00-00-00.000Z", "2026-01-02T00-00-00.000Z", yesterday])
    writeFileSync(join(dir, `links-2_${made}_1_1_${"0".repeat(64)}.sqlite.zst`), "");
  // What a process left that was killed.
  const leftover = join(dir, "shorthop-image-1");
  writeFileSync(leftover, "");
  utimesSync(leftover, 0, 0);
  const deps = { sql: stores.sql, nats: Promise.resolve(stores.connection), images, log };
  jobs = [1, 2].map(() => startImages({ ...deps, intervalMs: INTERVAL_MS }));
  await eventually(async () => {
    const [newest] = await images.list();
    expect(Date.now() - (newest?.madeAt.getTime() ?? 0)).toBeLessThan(60_000);
  }, WITHIN_MS);
  await Bun.sleep(5 * INTERVAL_MS);
  const listed = await images.list();
  expect(listed).toHaveLength(2);
  expect(readdirSync(dir)).toHaveLength(2);
  expect(Math.max(...jobs.map((job) => job.madeAt() ?? 0))).toBe(listed[0]?.madeAt.getTime() ?? 0);
  const copy = join(dir, "copy");
  await images.read(listed[0]?.name ?? "", copy, never);
  expect(readImage(copy).records.size).toBeGreaterThan(LINKS);
});
