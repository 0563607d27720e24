/** Goal: a malformed record in the links feed is skipped, counted and logged, and stops no redirector's feed. */
import { expect, test } from "bun:test";

import { createLinkCache } from "../../redirector/cache/link-cache.ts";
import { createDomainAnswers } from "../../redirector/domain-settings.ts";
import { MalformedRecordError } from "../../redirector/link-fetch.ts";
import { startLinkSubscriber } from "../../redirector/link-subscriber.ts";
import { createTakedowns } from "../../redirector/takedowns.ts";
import { domainNotice, takedownNotice } from "../../shared/contracts/feed-notices.ts";
import { type ActiveLink, encodeLinkRecord } from "../../shared/contracts/link-record.ts";
import { ensureLinksStream, linkSubject } from "../../shared/contracts/streams.ts";
import { newUuid } from "../../shared/ids.ts";
import { createLog } from "../../shared/log.ts";
import { openNats } from "../../shared/nats.ts";
import { eventually } from "../harness/eventually.ts";
import { startNats } from "../harness/nats.ts";

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
    const nats = openNats({ url: server.url, name: "redirector", log });
    cleanup.defer(nats.close);
    const cache = createLinkCache(4 * 1024 ** 2);
    const feed = startLinkSubscriber({
      nats,
      streamReplicas: 1,
      cache,
      takedowns: createTakedowns(),
      domains: createDomainAnswers(),
      initialCursor: undefined,
      log,
    });
    cleanup.defer(async () => feed.stop());
    await eventually(async () => expect(feed.state()).toBe("ok"), FEED_MS);

    const client = connection.jetstream();
    const aliases = () => [...cache.records()].map(({ alias }) => alias);
    const sequences: number[] = [];
    for (const [i, record] of MALFORMED.entries()) {
      const bytes = new TextEncoder().encode(JSON.stringify(record));
      const subject = linkSubject(record.domain, record.alias);
      sequences.push((await client.publish(subject, bytes)).seq);
      const next = linkAt(`good${i}`);
      await client.publish(linkSubject("", next.alias), encodeLinkRecord(next));
      await eventually(async () => expect(aliases()).toContain(next.alias), FEED_MS);
    }
    expect(aliases()).toEqual(MALFORMED.map((_, i) => `good${i}`));
    expect(feed.skipped()).toEqual({ malformed: MALFORMED.length, failed: 0 });
    const logged = lines.filter((line) => line.includes("feed_record_skipped"));
    expect(logged.map((line) => JSON.parse(line).sequence)).toEqual(sequences);
    expect(logged.join("\n")).not.toMatch(/bad\d|example\.com/);

    // Whether such a link exists is not known: a look-up fails, until a good record replaces it.
    expect(feed.fetch("", "bad0")).rejects.toThrow(MalformedRecordError);
    const mended = { ...linkAt("bad0"), version: 2 };
    await client.publish(linkSubject("", "bad0"), encodeLinkRecord(mended));
    expect(await feed.fetch("", "bad0")).toEqual(mended);

    // A redirector that starts beside a malformed list of takedowns follows the feed as well.
    const late = startLinkSubscriber({
      nats,
      streamReplicas: 1,
      cache: createLinkCache(4 * 1024 ** 2),
      takedowns: createTakedowns(),
      domains: createDomainAnswers(),
      initialCursor: undefined,
      log,
    });
    cleanup.defer(async () => late.stop());
    await eventually(async () => expect(late.state()).toBe("ok"), FEED_MS);
    expect(await late.fetch("", "bad0")).toEqual(mended);
  },
  TIMEOUT_MS,
);
