/**
 * Changes links one after the other at a steady rate; versions begin behind `VERSION`.
 * `bun bench/redirect/change-links.ts NATS_URL LINKS VERSION COUNT PER_SECOND`
 */
import { connect } from "nats";

import { encodeLinkRecord } from "../../shared/contracts/link-record.ts";
import { linkSubject } from "../../shared/contracts/streams.ts";
import { newUuid } from "../../shared/ids.ts";
import { makeLinks, recordOf } from "./links.ts";

const [natsUrl = "", ...numbers] = process.argv.slice(2);
const [count = 1, version = 0, changes = 0, perSecond = 1] = numbers.map(Number);

const links = makeLinks(count);
const account = newUuid();
const connection = await connect({ servers: natsUrl });
const start = performance.now();
for (let i = 0; i < changes; i++) {
  const link = links[i % links.length];
  if (link === undefined) break;
  const record = recordOf(link, version + i + 1, account);
  connection.publish(linkSubject("", link.alias), encodeLinkRecord(record));
  const ahead = start + (i / perSecond) * 1_000 - performance.now();
  if (ahead > 1) await Bun.sleep(ahead);
}
await connection.drain();
