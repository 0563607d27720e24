/** Simulated redirectors: they publish segments of clicks at a fixed rate, as real ones do. */
import { connect, type NatsConnection } from "nats";

import {
  type Click,
  encodeClick,
  RECORD_BYTES_MAX,
  toRequestClick,
} from "../../shared/contracts/click-record.ts";
import {
  encodeSegmentHeader,
  formatSegmentId,
  SEGMENT_HEADER_BYTES,
} from "../../shared/contracts/click-segment.ts";
import { CLICKS_SUBJECT } from "../../shared/contracts/streams.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { natsLogin } from "../../shared/nats.ts";
import { testClick } from "../../test/harness/segments.ts";

/**
 * How many redirectors, how many segments each of them seals per second, and the clicks of a
 * segment.
 */
export type Fleet = { redirectors: number; segmentsPerSecond: number; clicksPerSegment: number };

/** What has been published: Unix milliseconds and the number of clicks of one segment. */
export type Published = { at: number; clicks: number };

const LINKS = 1_000;
const AGENTS = Array.from({ length: 200 }, (_, i) => makeAgent(i));
const LANGUAGES = ["en-US,en;q=0.9", "de-DE,de;q=0.9,en;q=0.8", "fr-FR,fr;q=0.9", "ja"];

function makeAgent(i: number): string {
  const systems = [
    "Windows NT 10.0; Win64; x64",
    "Macintosh; Intel Mac OS X 10_15_7",
    "X11; Linux x86_64",
  ];
  return `Mozilla/5.0 (${systems[i % systems.length]}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${60 + i}.0.0.0 Safari/537.36`;
}

const random = (below: number): number => Math.floor(Math.random() * below);

/** Few of the items are frequent: the probability falls with the rank (Zipf's law). */
const skewed = (items: number): number => Math.floor(items ** Math.random()) - 1;

const linkIds = Array.from({ length: LINKS }, () => newUuid());
const accountId = newUuid();

function makeClick(time: number): Click {
  return testClick({
    time,
    linkId: linkIds[skewed(LINKS)] ?? "",
    accountId,
    address: `${1 + random(223)}.${random(256)}.${random(256)}.${1 + random(254)}`,
    host: "localhost",
    userAgent: AGENTS[skewed(AGENTS.length)] ?? "",
    referrer: random(2) === 0 ? "" : `https://site-${skewed(200)}.example/articles/${random(50)}`,
    language: LANGUAGES[skewed(LANGUAGES.length)] ?? "",
  });
}

/** Encodes a segment whose clicks happened just now. */
function makeSegment(journalId: Uuid, segment: number, clicks: number): Buffer {
  const bytes = Buffer.alloc(SEGMENT_HEADER_BYTES + clicks * RECORD_BYTES_MAX);
  encodeSegmentHeader({ journalId, segment }).copy(bytes);
  const now = Date.now();
  let end = SEGMENT_HEADER_BYTES;
  for (let i = 0; i < clicks; i++) end = encodeClick(bytes, end, toRequestClick(makeClick(now)));
  return bytes.subarray(0, end);
}

/**
 * Publishes for `seconds`, each redirector on a connection of its own and at an offset of its own
 * within the interval. Resolves when JetStream has acknowledged everything.
 */
export async function runFleet(
  natsUrl: string,
  { redirectors, segmentsPerSecond, clicksPerSegment }: Fleet,
  seconds: number,
): Promise<Published[]> {
  const published: Published[] = [];
  const intervalMs = 1_000 / segmentsPerSecond;
  const start = performance.now() + 500;

  async function run(connection: NatsConnection, offsetMs: number): Promise<void> {
    const client = connection.jetstream();
    const journalId = newUuid();
    const acknowledged: Promise<unknown>[] = [];
    for (let segment = 0; segment < seconds * segmentsPerSecond; segment++) {
      await Bun.sleep(Math.max(0, start + offsetMs + segment * intervalMs - performance.now()));
      const bytes = makeSegment(journalId, segment, clicksPerSegment);
      const msgID = formatSegmentId({ journalId, segment });
      acknowledged.push(client.publish(CLICKS_SUBJECT, bytes, { msgID }));
      published.push({ at: Date.now(), clicks: clicksPerSegment });
    }
    await Promise.all(acknowledged);
  }

  const connections = await Promise.all(
    Array.from({ length: redirectors }, () => connect(natsLogin(natsUrl))),
  );
  await Promise.all(
    connections.map((connection, i) => run(connection, (i / redirectors) * intervalMs)),
  );
  await Promise.all(connections.map((connection) => connection.close()));
  return published;
}
