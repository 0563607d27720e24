/**
 * Goal: a malformed record in the links feed is skipped, counted and logged, and stops no
 * redirector's feed.
 */
import { expect, test } from "bun:test";

import {
  domainNotice,
  encodeHeartbeat,
  takedownNotice,
} from "../../shared/contracts/feed-notices.ts";
import { type ActiveLink, encodeLinkRecord } from "../../shared/contracts/link-record.ts";
import {
  ensureLinksStream,
  HEARTBEAT_SUBJECT,
  linkSubject,
} from "../../shared/contracts/streams.ts";
import { newUuid } from "../../shared/ids.ts";
import { createLog } from "../../shared/log.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { startTestHost } from "../../test/harness/host-links.ts";
import { startNats } from "../../test/harness/nats.ts";

const TIMEOUT_MS = 60_000;

const FEED_MS = 10_000;

const linkAt = (alias: string): ActiveLink => ({
  state: "active",
  version: 1,
  domain: "",
  alias,
  link_id: newUuid(),
  account_id: newUuid(),
  mode: "live",
  destination: `https://example.com/${alias}`,
  expires_at: null,
  password_hash: null,
  forward_query: false,
});

/** Records that are not whole; each is the last one of its subject. */
const MALFORMED: readonly (Readonly<Record<string, unknown>> & {
  domain: string;
  alias: string;
})[] = [
  { ...linkAt("bad0"), password_hash: 5 },
  { ...linkAt("bad1"), version: "1" },
  { ...linkAt("bad2"), account_id: null },
  { ...linkAt("bad3"), extras: { rules: [{}] } },
  { ...linkAt("bad4"), destination: "https://example.com/\r\nset-cookie: a=b" },
  { ...takedownNotice(5, { accounts: [], hosts: [] }), takedowns: { accounts: 5, hosts: [] } },
  { ...domainNotice(5, "go.example.com", {}), settings: { root_url: 5 } },
];

test(
  "changes behind malformed records arrive, and those are skipped, counted and logged by their sequence",
  async () => {
    await using server = await startNats();
    await using cleanup = new AsyncDisposableStack();
    const connection = await server.connect();
    cleanup.defer(() => connection.close());
    await ensureLinksStream(await connection.jetstreamManager(), 1);
    const lines: string[] = [];
    const log = createLog("redirector", "warn", { write: (line) => void lines.push(line) });
    const client = connection.jetstream();
    const heartbeat = encodeHeartbeat({ complete: true, epoch: 0, version: 1 });
    await client.publish(HEARTBEAT_SUBJECT, heartbeat);
    await using host = startTestHost(server.url, { log });
    await eventually(async () => expect(host.health.complete()).toBe(true), FEED_MS);

    const sequences: number[] = [];
    for (const [i, record] of MALFORMED.entries()) {
      const bytes = new TextEncoder().encode(JSON.stringify(record));
      const subject = linkSubject(record);
      sequences.push((await client.publish(subject, bytes)).seq);
      const next = linkAt(`good${i}`);
      await client.publish(linkSubject({ domain: "", alias: next.alias }), encodeLinkRecord(next));
      await eventually(async () => expect(host.versionOf(next.alias)).toBe(1), FEED_MS);
    }
    expect(host.skipped()).toBe(MALFORMED.length);
    const logged = lines.filter((line) => line.includes("feed_record_skipped"));
    expect(logged.map((line) => JSON.parse(line).sequence)).toEqual(sequences);
    expect(logged.join("\n")).not.toMatch(/bad\d|example\.com/);

    // Whether such a link exists is not known, until a good record replaces it.
    expect(host.links.find("", "bad0")).toBeUndefined();
    expect(host.links.fetch("", "bad0")).rejects.toThrow("malformed");
    const mended = { ...linkAt("bad0"), version: 2 };
    await client.publish(linkSubject({ domain: "", alias: "bad0" }), encodeLinkRecord(mended));
    await eventually(async () => expect(host.links.find("", "bad0")).toEqual(mended), FEED_MS);

    // A host that starts beside a malformed list of takedowns follows the feed as well.
    await using late = startTestHost(server.url, { log });
    await eventually(async () => expect(late.links.find("", "bad0")).toEqual(mended), FEED_MS);
  },
  TIMEOUT_MS,
);
