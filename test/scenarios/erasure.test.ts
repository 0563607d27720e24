/**
 * Goal: after an erasure nothing of an account is anywhere but the proof, and others keep what they
 * have. Method: an account that has something of everything, whose markers are looked for in all
 * that a stack stores, before and after.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import { connect } from "nats";
import postgres from "postgres";
import * as z from "zod";

import { type ChainEnd, extendChain } from "../../api/events/chain.ts";
import { INSTALLATION, recordEvents } from "../../api/events/record.ts";
import { OPERATOR } from "../../api/http/principal.ts";
import { createClient } from "../../clients/typescript/src/index.ts";
import { loadSecrets } from "../../deploy/local/secrets.ts";
import { decodeId, type IdKind } from "../../shared/ids.ts";
import { chunkIndex, SNAPSHOTS_STREAM } from "../../shared/links-log/snapshots.ts";
import { natsLogin } from "../../shared/nats.ts";
import {
  admin,
  createAccount,
  type NewAccount,
  runAdmin,
  runQuery,
  UNLIMITED,
  withPostgres,
} from "../harness/admin.ts";
import { ApiInProcess } from "../harness/api-in-process.ts";
import { call } from "../harness/api.ts";
import { createUser, signIn } from "../harness/dashboard.ts";
import { eventually } from "../harness/eventually.ts";
import { startWorker } from "../harness/processes.ts";
import { type Stack, startStack } from "../harness/stack.ts";
import { createTemporaryDir } from "../harness/templates.ts";

/** What is looked for: bytes, each with what it is. */
type Marker = { name: string; bytes: Buffer };

/** A word, and a UUID in each form in which it is stored. */
const wordMarker = (word: string): Marker => ({ name: word, bytes: Buffer.from(word) });
const idMarkers = (uuid: string): Marker[] => [
  { name: uuid, bytes: Buffer.from(uuid) },
  { name: `${uuid} in hexadecimal`, bytes: Buffer.from(uuid.replaceAll("-", "")) },
  { name: `${uuid} in bytes`, bytes: Buffer.from(uuid.replaceAll("-", ""), "hex") },
];

/** Where a marker was found, with the beginning of what has it. */
type Trace = { where: string; marker: string; text: string };

/** More than the row of a proof has. */
const TEXT_BYTES_MAX = 20_000;

type Part = { where: string; bytes: Buffer };

async function findTraces(stack: Stack, markers: readonly Marker[]): Promise<Trace[]> {
  const found: Trace[] = [];
  for await (const { where, bytes } of readEverything(stack))
    for (const { name, bytes: marker } of markers)
      if (bytes.includes(marker))
        found.push({ where, marker: name, text: bytes.toString("latin1", 0, TEXT_BYTES_MAX) });
  return found;
}

/** The places of traces, each once. */
const placesOf = (traces: readonly Trace[]): string[] =>
  [...new Set(traces.map(({ where }) => where))].toSorted();

async function* readEverything(stack: Stack): AsyncGenerator<Part> {
  yield* readPostgres(stack);
  yield* readClickHouse(stack);
  yield* readJetStream(stack);
  for (const folder of ["journal", "links", "logs"]) yield* readFiles(stack.dataDir, folder);
}

async function* readPostgres(stack: Stack): AsyncGenerator<Part> {
  const sql = postgres(stack.info().database_url, { max: 1 });
  const tables = await sql<{ name: string }[]>`
    select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by 1`;
  for (const { name } of tables)
    for (const { row } of await sql.unsafe<{ row: string }[]>(
      `select row_to_json(dumped)::text as row from ${name} dumped`,
    ))
      yield { where: `PostgreSQL ${name}`, bytes: Buffer.from(unescapeBytes(row)) };
  await sql.end();
}

/** The log of links has entries as bytes, which JSON has in hexadecimal digits. */
const unescapeBytes = (row: string): string =>
  row.replaceAll(/"\\\\x([0-9a-f]+)"/g, (_, hex: string) => Buffer.from(hex, "hex").toString());

async function* readClickHouse(stack: Stack): AsyncGenerator<Part> {
  const tables = await runQuery(
    stack,
    "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree' FORMAT TSV",
  );
  for (const name of tables.split("\n")) {
    const rows = await runQuery(stack, `SELECT * FROM ${name} FORMAT JSONEachRow`);
    for (const row of rows.split("\n"))
      yield { where: `ClickHouse ${name}`, bytes: Buffer.from(row) };
  }
}

async function* readJetStream(stack: Stack): AsyncGenerator<Part> {
  const nats = await connect(natsLogin(stack.info().nats_url));
  const manager = await nats.jetstreamManager();
  for await (const { config, state } of manager.streams.list()) {
    const snapshots = new Map<string, Map<number, Buffer>>();
    for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
      const message = await manager.streams.getMessage(config.name, { seq }).catch(() => undefined);
      if (message === undefined) continue;
      const bytes = Buffer.from(message.data);
      yield {
        where: `JetStream ${config.name}`,
        bytes: Buffer.concat([Buffer.from(message.subject), bytes]),
      };
      if (config.name !== SNAPSHOTS_STREAM) continue;
      const [, name = ""] = message.subject.split(".");
      const chunks = snapshots.get(name) ?? new Map<number, Buffer>();
      snapshots.set(name, chunks.set(chunkIndex(message.subject), bytes));
    }
    for (const chunks of snapshots.values()) {
      const parts = [...chunks]
        .filter(([index]) => !Number.isNaN(index))
        .toSorted(([a], [b]) => a - b);
      const file = await Bun.zstdDecompress(Buffer.concat(parts.map(([, bytes]) => bytes)));
      yield { where: "JetStream snapshots", bytes: Buffer.from(file) };
    }
  }
  await nats.close();
}

function* readFiles(dataDir: string, folder: string): Generator<Part> {
  for (const name of readdirSync(join(dataDir, folder), { recursive: true, encoding: "utf8" })) {
    const path = join(dataDir, folder, name);
    if (statSync(path, { throwIfNoEntry: false })?.isFile() === true)
      yield { where: folder, bytes: readFileSync(path) };
  }
}

const STORED_MS = 60_000;

/** A word in every text of the account, and one in its visitors' requests. */
const WORD = `erased-${crypto.randomUUID().slice(0, 8)}`;
const VISITOR = `visitor-${crypto.randomUUID().slice(0, 8)}`;

const AGENT = `Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36 ${VISITOR}`;

const proofSchema = z.object({
  erased: z.boolean(),
  counts: z.record(z.string(), z.tuple([z.number(), z.number().nullable()])),
  left: z.array(z.object({ what: z.string(), until: z.string() })),
});

let stack: Stack;
let account: NewAccount;
let other: NewAccount;
let email: string;
const links: Record<"own" | "second" | "other", { id: string; short_url: string }> = {
  own: { id: "", short_url: "" },
  second: { id: "", short_url: "" },
  other: { id: "", short_url: "" },
};

const uuidOf = (kind: IdKind, id: string): string => decodeId(kind, id) ?? "";

/** What an account does by the API. */
const by = ({ key }: NewAccount) => createClient({ baseUrl: stack.info().api_url, apiKey: key });

/** Follows a link a few times, so that clicks of several links are in one segment. */
async function follow(times: number, ...urls: string[]): Promise<void> {
  for (let i = 0; i < times; i++)
    await Promise.all(
      urls.map((url) =>
        call(url, { headers: { "user-agent": AGENT, referer: `https://${VISITOR}.example/path` } }),
      ),
    );
}

const clicksOf = async (which: keyof typeof links, owner: NewAccount): Promise<number> =>
  (await by(owner).links.get(links[which].id)).clicks;

const erase = async (...words: string[]) =>
  proofSchema.parse(
    JSON.parse(
      await runOk(["accounts", ...words, "--yes", "--json"], {
        JOURNAL_DIR: join(stack.dataDir, "journal"),
        BACKUP_PLACE: createTemporaryDir("shorthop-no-backups-"),
      }),
    ),
  );

async function runOk(words: string[], env: Record<string, string> = {}): Promise<string> {
  const { code, stdout, stderr } = await runAdmin(stack, words, env);
  if (code !== 0) throw new Error(`${words.join(" ")}: ${stderr}${stdout}`);
  return stdout;
}

/** Everything that identifies the account. */
const markers = (): Marker[] => [
  ...[WORD, email, account.id, links.own.id, links.second.id].map(wordMarker),
  ...idMarkers(uuidOf("acct", account.id)),
  ...[links.own, links.second].flatMap(({ id }) => idMarkers(uuidOf("link", id))),
];

beforeAll(async () => {
  stack = await startStack();
  account = await createAccount(stack, "enterprise", UNLIMITED);
  other = await createAccount(stack, "enterprise", UNLIMITED);
  await readClickEvents(account);
  const user = await createUser(stack, account.id);
  email = user.email;
  const session = await signIn(stack, user);
  await session.send(`/api/${account.id}/invitations`, {
    body: { email: `${WORD}@example.com`, role: "viewer" },
  });
  const shorthop = by(account);
  links.own = await shorthop.links.create({
    url: `https://example.com/${WORD}`,
    alias: WORD,
    title: WORD,
    notes: WORD,
    tags: [WORD],
    rules: [
      { url: `https://example.com/de-${WORD}`, conditions: [{ type: "country", in: ["DE"] }] },
    ],
  });
  links.second = await shorthop.links.create({
    url: `https://example.org/${WORD}`,
    max_clicks: 100,
  });
  links.other = await by(other).links.create({ url: "https://example.net/" });
  await shorthop.links.create({ url: `https://example.com/${WORD}`, password: "a-password-7" });
  await shorthop.domains.create(`${WORD}.example`);
  await shorthop.webhooks.create({ url: `https://${WORD}.example/hook`, events: ["*"] });
  await shorthop.shares.create({ name: WORD });
  await shorthop.reports.create({ name: WORD, period: "weekly" });
  await runOk(["users", "remove", "--email", (await createUser(stack)).email]);
  await follow(5, links.own.short_url, links.second.short_url, links.other.short_url);
  await eventually(async () => {
    expect(await clicksOf("own", account)).toBe(5);
    expect(await clicksOf("second", account)).toBe(5);
    expect(await clicksOf("other", other)).toBe(5);
    expect(await readClickEvents(account)).toBeGreaterThan(0);
  }, STORED_MS);
}, 300_000);

afterAll(async () => await stack[Symbol.asyncDispose]());

const readClickEvents = async (owner: NewAccount): Promise<number> =>
  (await by(owner).events.list({ type: ["clicks.recorded"] })).data.length;

const lineSchema = z.union([
  z.object({ format: z.literal(1), version: z.string() }),
  z.object({ table: z.string(), row: z.record(z.string(), z.unknown()) }),
  z.object({ rows: z.record(z.string(), z.number()) }),
]);

/** An export has everything of the account, and nothing of another or secret. */
async function expectExport(): Promise<void> {
  const out = join(createTemporaryDir("shorthop-export-"), "account.ndjson");
  await runOk(["accounts", "export", account.id, "--out", out]);
  const text = readFileSync(out, "utf8");
  const lines = text
    .trim()
    .split("\n")
    .map((line) => lineSchema.parse(JSON.parse(line)));
  const last = lines.at(-1);
  expect(last !== undefined && "rows" in last ? last.rows : {}).toMatchObject({
    accounts: 1,
    members: 1,
    links: 3,
    domains: 1,
    webhooks: 1,
    shares: 1,
    reports: 1,
    api_keys: 1,
    invitations: 1,
    tags: 1,
    clicks: 10,
  });
  expect(text).toContain(links.own.id);
  expect(text).toContain(`https://example.com/de-${WORD}`);
  expect(text).toContain(email);
  for (const absent of [other.id, links.other.id, account.key, "argon2", '"visitor"'])
    expect(text).not.toContain(absent);
  expect((await runAdmin(stack, ["accounts", "export", account.id, "--out", out])).code).toBe(1);
}

/** The clicks of a link are gone everywhere, and its account keeps those of others. */
async function expectClicksErased(): Promise<void> {
  const { erased, counts } = await erase("erase-clicks", account.id, "--link", links.own.id);
  expect(erased).toBe(true);
  expect(counts["ClickHouse clicks"]).toEqual([5, 0]);
  expect(counts["CLICKS"]).toEqual([5, 0]);
  expect(counts["events"]?.[0]).toBeGreaterThan(0);
  expect(await clicksOf("own", account)).toBe(0);
  expect(await clicksOf("second", account)).toBe(5);
  expect((await by(account).analytics.account({ period: "7d" })).summary.total_clicks).toBe(5);
  expect(await clicksOf("other", other)).toBe(5);
  const differences = await admin<{ differences: number }>(stack, [
    "check-rollups",
    "--hours",
    "72",
  ]);
  expect(differences).toMatchObject({ differences: 0 });
  const traces = await findTraces(stack, idMarkers(uuidOf("link", links.own.id)));
  const places = placesOf(traces).filter((place) => /ClickHouse|CLICKS|journal/.test(place));
  expect(places).toEqual([]);
  // It goes on counting.
  await follow(2, links.own.short_url);
  await eventually(async () => expect(await clicksOf("own", account)).toBe(2), STORED_MS);
}

test("everything of an account is exported; and after its erasure there is the proof, and nothing else", async () => {
  await expectExport();
  await expectClicksErased();
  const before = placesOf(await findTraces(stack, markers()));
  for (const place of [
    "PostgreSQL links",
    "PostgreSQL events",
    "ClickHouse clicks",
    "JetStream CLICKS",
    "links",
  ])
    expect(before).toContain(place);
  const ends = await admin<ChainEnd[]>(stack, ["audit", "verify"]);

  const { erased, counts } = await erase("erase", account.id);
  expect(erased).toBe(true);
  expect(Object.values(counts).every(([, after]) => after === 0)).toBe(true);
  expect(counts["links"]).toEqual([3, 0]);
  expect(counts["CLICKS"]?.[0]).toBeGreaterThan(0);

  await eventually(async () => {
    const traces = await findTraces(stack, markers());
    const rest = traces.filter(({ text }) => !text.includes('"accounts erase"'));
    const described = rest.map(({ where, marker }) => `${where}: ${marker}`);
    expect(placesOf(rest), described.join("\n")).toEqual([
      "PostgreSQL event_cuts",
      "PostgreSQL event_heads",
    ]);
    expect(rest.every(({ marker }) => marker.startsWith(uuidOf("acct", account.id)))).toBe(true);
  }, STORED_MS);
  const [proof] = await admin<Record<string, unknown>[]>(stack, ["audit", "list"]);
  expect(JSON.stringify(proof)).toContain(account.id);

  // The chains are whole, also as they were known before.
  const known = join(createTemporaryDir("shorthop-ends-"), "ends.json");
  await Bun.write(known, JSON.stringify(ends));
  await runOk(["audit", "verify", "--expect", known]);
  expect((await call(links.own.short_url)).status).toBe(404);
  expect(await clicksOf("other", other)).toBe(5);
  await follow(1, links.other.short_url);
  await eventually(async () => expect(await clicksOf("other", other)).toBe(6), STORED_MS);
}, 900_000);

test("an account that is gone is erased again, with the proof of the first time, where there is no other", async () => {
  await using api = await ApiInProcess.start({ clickhouse: true });
  await using _ = await startWorker(api);
  const { id } = await createAccount(api, "business");
  const first = { command: "accounts erase", account: id, counts: { links: [3, 0] } };
  await withPostgres(api, async (sql) => {
    await extendChain(sql, { accountId: uuidOf("acct", id), mode: "live" });
    await sql.begin(async (sql) => {
      await sql`delete from api_keys`;
      await sql`delete from accounts`;
      const event = { type: "operator.command", objectId: null, data: first } as const;
      await recordEvents(sql, { ...INSTALLATION, actor: OPERATOR }, [event]);
    });
  });
  const { linksSigningKey } = loadSecrets(join(api.dataDir, "secrets.json"));
  const { code, stdout, stderr } = await runAdmin(
    api,
    ["accounts", "erase", id, "--yes", "--json"],
    { LINKS_SIGNING_KEY: linksSigningKey, BACKUP_PLACE: createTemporaryDir("shorthop-none-") },
  );
  expect([code, stderr.includes("making two snapshots")]).toEqual([0, false]);
  const printed: unknown = JSON.parse(stdout);
  expect(printed).toMatchObject({ account: id, erased: true, gone_since: first });
}, 600_000);
