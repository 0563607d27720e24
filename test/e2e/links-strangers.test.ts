/**
 * Goal: whoever has a password of NATS, but no key, changes no link, doctor reports them, and
 * changes go on. Method: real processes on a NATS with the shipped users. What publishers and hosts
 * make of each kind of message and snapshot that nobody signed is beside their code.
 */
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { NatsConnection } from "nats";

import { encodeLinkRecord } from "../../shared/contracts/link-record.ts";
import { newUuid } from "../../shared/ids.ts";
import { decodeEntry, type Entry, hashOf } from "../../shared/links-log/entries.ts";
import { newSigningKey, publicKeyOf } from "../../shared/links-log/signature.ts";
import { chunkSubject, manifestSubject } from "../../shared/links-log/snapshots.ts";
import { LINK_LOG_STREAM, LINK_LOG_SUBJECT, signEntry } from "../../shared/links-log/tail.ts";
import { createAccount, runAdmin, withOwnDatabase } from "../harness/admin.ts";
import { call, linkSchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { activeLink, encodeEntry, signerOf, SIGNING_KEY } from "../harness/links-log.ts";
import { NatsCluster } from "../harness/nats-cluster.ts";
import { ownNatsServer } from "../harness/nats.ts";
import { startApi, startRedirector } from "../harness/processes.ts";
import { useStack } from "../harness/stack.ts";

const WITHIN_MS = 20_000;
const STRANGER = signerOf({ links_signing_key: "6".repeat(64) });
const ALIAS = "signed";
const FORGED = "forged";

/** Where the link leads. */
let destination = "https://example.com/first";
const stack = await withOwnDatabase(await forFile(useStack()), "strangers");
const nats = await forFile(NatsCluster.start(await ownNatsServer(), { count: 1 }));

const environment = (user: "api" | "redirector", keys: Record<string, string> = {}) => ({
  ...nats.env,
  NATS_URL: nats.url(user),
  ...keys,
});

const follow = async (alias: string) => {
  const { status, headers: found } = await call(`${redirector.url}/${alias}`);
  return [status, found.get("location")];
};

const expectRedirect = () =>
  eventually(async () => expect(await follow(ALIAS)).toEqual([302, destination]), WITHIN_MS);

/** Changes the link, which its redirector then has. */
async function change(): Promise<void> {
  destination = `https://example.com/${newUuid()}`;
  const body = { url: destination };
  const { status } = await call(`${api.url}/v1/links/${id}`, { key, method: "PATCH", body });
  expect(status).toBe(200);
  await expectRedirect();
  expect(await follow(FORGED)).toEqual([404, null]);
}

let api = await forFile(startApi(stack, environment("api")));
let redirector = await forFile(startRedirector(stack, environment("redirector")));
const { key } = await createAccount(stack, "enterprise");
const created = await call(`${api.url}/v1/links`, {
  key,
  body: { url: destination, alias: ALIAS },
});
const { id } = linkSchema.parse(created.body);
await expectRedirect();

async function readLast(connection: NatsConnection): Promise<Entry> {
  const { streams } = await connection.jetstreamManager({ checkAPI: false });
  const { data } = await streams.getMessage(LINK_LOG_STREAM, { last_by_subj: LINK_LOG_SUBJECT });
  const entry = decodeEntry(data);
  if (entry === undefined) throw new Error("The tail does not end with an entry.");
  return entry;
}

const FORGED_STATES = [ALIAS, FORGED].map((alias) =>
  encodeLinkRecord({ ...activeLink(alias, 2 ** 50), destination: "https://attacker.example/" }),
);

/** Publishes an entry on top of the last one, signed by a stranger. */
async function forgeEntry(): Promise<void> {
  const connection = await nats.connect("api");
  const { database, term, position, hash } = await readLast(connection);
  const header = { database, term, position: position + 1, previous: hash };
  const bytes = encodeEntry(header, FORGED_STATES);
  const entry = { ...header, hash: hashOf(bytes) };
  const signed = signEntry(STRANGER, entry, entry);
  await connection.jetstream().publish(LINK_LOG_SUBJECT, bytes, { headers: signed });
  await connection.close();
}

test("an entry of somebody without a key is not applied, changes go on, and doctor says so", async () => {
  await forgeEntry();
  await change();
  const dir = join(stack.dataDir, "etc-strangers");
  mkdirSync(dir, { recursive: true });
  const variables = {
    ...nats.env,
    NATS_URL: nats.url("redirector"),
    SHORT_URL: stack.info().short_url,
    LINKS_PUBLIC_KEYS: publicKeyOf(stack.info().links_signing_key ?? SIGNING_KEY),
    JOURNAL_DIR: join(stack.dataDir, "journal-strangers"),
    REDIRECTOR_METRICS_PORT: new URL(redirector.metricsUrl).port,
  };
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(join(dir, "redirector.env"), lines.join(""));
  const env = { SHORTHOP_CONFIG_DIR: dir, ...nats.env };
  const stdout = await eventually(async () => {
    const found = await runAdmin(stack, ["doctor", "--json"], env);
    expect(found.stdout).toContain("links_log: messages of the links log are ignored");
    return found.stdout;
  }, WITHIN_MS);
  expect(stdout).toContain("Compare LINKS_PUBLIC_KEYS");
});

test("with a redirector's password, JetStream repeats what was signed, and changes nothing by it", async () => {
  const stranger = await nats.connect("redirector");
  const manager = await stranger.jetstreamManager({ checkAPI: false });
  const { name } = await manager.consumers.add(LINK_LOG_STREAM, {
    ack_policy: "none" as never,
    deliver_policy: "all" as never,
    mem_storage: true,
  });
  const before = (await manager.streams.info(LINK_LOG_STREAM)).state.last_seq;
  const ask = (subject: string, body: unknown, reply: string) =>
    stranger.publish(`$JS.API.${subject}`, JSON.stringify(body), { reply });
  ask(`CONSUMER.MSG.NEXT.${LINK_LOG_STREAM}.${name}`, { batch: 5 }, LINK_LOG_SUBJECT);
  const last = { last_by_subj: LINK_LOG_SUBJECT };
  ask(`STREAM.MSG.GET.${LINK_LOG_STREAM}`, last, LINK_LOG_SUBJECT);
  ask(`STREAM.MSG.GET.${LINK_LOG_STREAM}`, last, manifestSubject("stolen"));
  ask(`STREAM.MSG.GET.${LINK_LOG_STREAM}`, last, chunkSubject("stolen", 0));
  await stranger.flush();
  await eventually(async () => {
    const { state } = await manager.streams.info(LINK_LOG_STREAM);
    expect(state.last_seq).toBeGreaterThan(before + 4);
  }, WITHIN_MS);
  await change();
  await change();
  await stranger.close();
});

test("keys are changed while links change", async () => {
  const before = publicKeyOf(stack.info().links_signing_key ?? SIGNING_KEY);
  const LINKS_SIGNING_KEY = newSigningKey();
  const after = publicKeyOf(LINKS_SIGNING_KEY);
  // First all know the key, then API processes sign with it, and last the one before is forgotten.
  for (const [known, signing] of [
    [`${before},${after}`, {}],
    [`${before},${after}`, { LINKS_SIGNING_KEY }],
    [after, { LINKS_SIGNING_KEY }],
    // And back again.
    [`${before},${after}`, { LINKS_SIGNING_KEY }],
    [`${before},${after}`, {}],
    [before, {}],
  ] as const) {
    await redirector.stop();
    const keys = { LINKS_PUBLIC_KEYS: known };
    redirector = await forFile(startRedirector(stack, environment("redirector", keys)));
    const next = await forFile(startApi(stack, environment("api", { ...keys, ...signing })));
    await api.stop();
    api = next;
    await change();
    await change();
  }
});
