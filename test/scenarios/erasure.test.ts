/**
 * Goal: after an erasure nothing of an account is anywhere but the proof, and others keep what they
 * have. Method: an account that has something of everything, whose markers are looked for in all
 * that a stack stores, before and after.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod";

import type { ChainEnd } from "../../api/events/chain.ts";
import { decodeId, type IdKind } from "../../shared/ids.ts";
import { admin, createAccount, type NewAccount, runAdmin, UNLIMITED } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { createUser, signIn } from "../harness/dashboard.ts";
import { eventually } from "../harness/eventually.ts";
import { type Stack, startStack } from "../harness/stack.ts";
import { createTemporaryDir } from "../harness/templates.ts";
import { findTraces, idMarkers, type Marker, placesOf, wordMarker } from "../harness/traces.ts";

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

async function create(
  { key }: NewAccount,
  path: string,
  body: unknown,
): Promise<{ id: string; short_url: string }> {
  const response = await call(`${stack.info().api_url}/v1${path}`, { key, body });
  if (response.status >= 300) throw new Error(`${path}: ${JSON.stringify(response.body)}`);
  return z
    .object({
      id: z.string(),
      short_url: z
        .string()
        .nullish()
        .transform((url) => url ?? ""),
    })
    .parse(response.body);
}

/** Follows a link a few times, so that clicks of several links are in one segment. */
async function follow(times: number, ...urls: string[]): Promise<void> {
  for (let i = 0; i < times; i++)
    await Promise.all(
      urls.map((url) =>
        call(url, { headers: { "user-agent": AGENT, referer: `https://${VISITOR}.example/path` } }),
      ),
    );
}

const clicksOf = async (which: keyof typeof links, { key }: NewAccount): Promise<number> => {
  const { body } = await call(`${stack.info().api_url}/v1/links/${links[which].id}`, { key });
  return z.object({ clicks: z.number() }).parse(body).clicks;
};

const totalOf = async ({ key }: NewAccount): Promise<number> => {
  const { body } = await call(`${stack.info().api_url}/v1/analytics?period=7d`, { key });
  return z.object({ summary: z.object({ total_clicks: z.number() }) }).parse(body).summary
    .total_clicks;
};

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
  links.own = await create(account, "/links", {
    url: `https://example.com/${WORD}`,
    alias: WORD,
    title: WORD,
    notes: WORD,
    tags: [WORD],
    rules: [
      { url: `https://example.com/de-${WORD}`, conditions: [{ type: "country", in: ["DE"] }] },
    ],
  });
  links.second = await create(account, "/links", {
    url: `https://example.org/${WORD}`,
    max_clicks: 100,
  });
  links.other = await create(other, "/links", { url: "https://example.net/" });
  await create(account, "/links", { url: `https://example.com/${WORD}`, password: "a-password-7" });
  await create(account, "/domains", { domain: `${WORD}.example` });
  await create(account, "/webhooks", { url: `https://${WORD}.example/hook`, events: ["*"] });
  await create(account, "/shares", { name: WORD });
  await create(account, "/reports", { name: WORD, period: "weekly" });
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

async function readClickEvents({ key }: NewAccount): Promise<number> {
  const { body } = await call(`${stack.info().api_url}/v1/events?type=clicks.recorded`, { key });
  return z.object({ data: z.array(z.unknown()) }).parse(body).data.length;
}

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
  expect(await totalOf(account)).toBe(5);
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
