/**
 * Makes the file of a release from the sources of this folder, as they are at its tag:
 * `bun test/scenarios/upgrade/make.ts 1.0`. Needs PostgreSQL with `pg_dump`.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { segmentPath } from "../../../redirector/journal/files.ts";
import { decodeId } from "../../../shared/ids.ts";
import { admin, createAccount, createKey, runAdmin, UNLIMITED } from "../../harness/admin.ts";
import { TestClickHouse } from "../../harness/clickhouse.ts";
import { Dns } from "../../harness/dns.ts";
import { eventually } from "../../harness/eventually.ts";
import { findDebianPostgres, PostgresServer } from "../../harness/postgres-server.ts";
import { TestJournal } from "../../harness/segments.ts";
import {
  attachStack,
  createDataDir,
  removeDataDir,
  type Stack,
  startStack,
} from "../../harness/stack.ts";
import {
  BACKUP,
  CHAINS,
  clientOf,
  pack,
  readState,
  type Recorded,
  visit,
  writeRecorded,
} from "./artifact.ts";

const TIMEOUT_MS = 60_000;

const DOMAIN = "go.upgrade.example";

/** Links of each kind; those whose time is soon have it when all have been made. */
const LINKS = (soon: string) => [
  { alias: "plain", title: "Plain", notes: "Two\nlines", tags: ["spring", "Grüße"] },
  { alias: "Größe/été.1", external_id: "crm-17" },
  { alias: "😀", utm_source: "news", utm_campaign: "spring", forward_query: true },
  { alias: "secret", password: "correct horse" },
  { alias: "expired", expires_at: soon, expired_url: "https://example.com/over" },
  { alias: "gone", expires_at: soon },
  { alias: "later", starts_at: "2099-01-01T00:00:00Z" },
  { alias: "disabled", disabled: true },
  { alias: "archived", archived: true },
  { alias: "permanent", redirect_status: 301 as const },
  { alias: "beyond", forward_path: "append" as const },
  { alias: "confirm", confirm: true },
  { alias: "preview", preview: { title: "Spring sale" } },
  { alias: "once", max_clicks: 1 },
  { alias: "hundred", max_clicks: 100 },
  {
    alias: "rules",
    rules: [
      {
        url: "https://example.com/de",
        conditions: [{ type: "language" as const, in: ["de"] }],
      },
    ],
  },
  { alias: "split", split: { arms: [{ url: "https://example.com/b", weight: 50 }] } },
  { alias: "on-domain", domain: DOMAIN },
  { alias: "taken-down" },
];

/** A link that nobody visits; its clicks are in the journal. */
const WAITING = "waiting";

const VISITED = [
  ...LINKS("").map(({ alias }) => alias),
  "renamed",
  "of-tests",
  "😀?utm_medium=mail&x=1",
  "beyond/a/b?c=d",
  "plain+",
  "deleted",
];

const SCOPES = "links:read,links:write,analytics:read";

const [release] = process.argv.slice(2);
const programs = findDebianPostgres();
if (release === undefined || programs === undefined) {
  console.error("Usage: bun test/scenarios/upgrade/make.ts RELEASE");
  process.exit(2);
}
const dataDir = createDataDir();
await using postgres = await PostgresServer.startEmpty(programs);
await using dns = await Dns.start();
const { account, recorded } = await fill(postgres, dns);
writeWaiting(account, recorded);
await backUp(postgres, programs);
writeRecorded(dataDir, recorded);
console.log(pack(release, dataDir));
removeDataDir(dataDir);

/** Has a stack make links, clicks and events, and records what they look like. */
async function fill(
  { url }: PostgresServer,
  dns: Dns,
): Promise<{ account: string; recorded: Recorded }> {
  const env = { DATABASE_URL: url, DNS_SERVERS: dns.address };
  await using stack = await startStack({ dataDir, env });
  const account = await createAccount(stack, "enterprise", UNLIMITED);
  const { key } = await createKey(stack, account.id, SCOPES, { type: "test" });
  const keys = { live: account.key, test: key };
  const client = clientOf(stack, keys.live);
  const domain = await client.domains.create(DOMAIN);
  const proof = domain.verification;
  dns.set(proof.name, [proof.value]);
  await client.domains.verify(domain.id);
  await client.domains.update(domain.id, { root_url: "https://example.com/root" });
  await makeLinks(stack, keys);
  const visits = await visitAll(stack);
  await settle(stack, keys);
  const chains = await admin(stack, ["audit", "verify"]);
  writeFileSync(join(dataDir, CHAINS), JSON.stringify(chains));
  const waiting = { link: (await client.links.lookUp({ alias: WAITING })).id, clicks: 3 };
  const state = await readState(stack, keys);
  await stack.stop();
  return { account: account.id, recorded: { keys, proof, visits, waiting, state } };
}

async function makeLinks(stack: Stack, keys: Recorded["keys"]): Promise<void> {
  const client = clientOf(stack, keys.live);
  const url = "https://example.com/path?q=1";
  for (const link of LINKS(new Date(Date.now() + 10_000).toISOString()))
    await client.links.create({ url, ...link });
  const renamed = await client.links.create({ url, alias: "before" });
  await client.links.update(renamed.id, { alias: "renamed", title: "Renamed" });
  await client.links.create({ url, alias: WAITING });
  const deleted = await client.links.create({ url, alias: "deleted" });
  await client.links.delete(deleted.id);
  await clientOf(stack, keys.test).links.create({ url, alias: "of-tests" });
  await client.shares.create({ link_id: renamed.id });
  await admin(stack, ["links", "disable", "--alias", "taken-down"]);
  await eventually(async () => {
    const { status } = await client.links.lookUp({ alias: "gone" });
    if (status !== "expired") throw new Error(`The link is ${status}.`);
  }, TIMEOUT_MS);
}

/** Visits all twice, as a limit is used up by the first visit; returns the second answers. */
async function visitAll(stack: Stack): Promise<Recorded["visits"]> {
  const answers: Recorded["visits"] = [];
  for (const isRecorded of [false, true])
    for (const path of VISITED) {
      const host = path === "on-domain" ? DOMAIN : "localhost";
      const answer = await visit(stack, path, host);
      if (isRecorded) answers.push({ path, host, answer });
    }
  return answers;
}

/** Waits until all clicks are counted: their number stays the same. */
async function settle(stack: Stack, keys: Recorded["keys"]): Promise<void> {
  const read = async () => JSON.stringify(await readState(stack, keys));
  for (let before = ""; before !== (await read()); await Bun.sleep(5_000)) before = await read();
}

/** Leaves clicks in the journal, as a host does that has lost NATS. */
function writeWaiting(account: string, { waiting: { link, clicks } }: Recorded): void {
  const journal = new TestJournal(decodeId("link", link), 60_000, decodeId("acct", account));
  const segment = journal.next(clicks);
  writeFileSync(segmentPath(join(dataDir, "journal"), segment, "segment"), segment.bytes);
}

/** Makes a backup of the stores, whose processes have ended. */
async function backUp({ url }: PostgresServer, programs: string): Promise<void> {
  const clickhouse = await TestClickHouse.startIn(dataDir);
  const to = ["--to", join(dataDir, BACKUP), "--no-configuration"];
  const { code, stderr } = await runAdmin(attachStack(dataDir), ["backup", ...to], {
    DATABASE_URL: url,
    CLICKHOUSE_URL: clickhouse.url,
    PATH: `${programs}/bin:${process.env["PATH"]}`,
  });
  await clickhouse.stop();
  if (code !== 0) throw new Error(stderr);
}
