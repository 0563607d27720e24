/**
 * Changes links in turn at a steady rate; their versions start above `VERSION`.
 * `NATS_URL=… bun bench/redirect/change-links.ts LINKS VERSION COUNT PER_SECOND`
 */
import { connect } from "nats";

import { encodeLinkRecord } from "../../shared/contracts/link-record.ts";
import { linkSubject } from "../../shared/contracts/streams.ts";
import { newUuid } from "../../shared/ids.ts";
import { natsLogin } from "../../shared/nats.ts";
import { generateLinks, toLinkRecord } from "./links.ts";

const [count = 1, version = 0, changes = 0, perSecond = 1] = process.argv.slice(2).map(Number);

const links = generateLinks(count);
const account = newUuid();
const connection = await connect(natsLogin(process.env["NATS_URL"] ?? ""));
const start = performance.now();
for (let i = 0; i < changes; i++) {
  const link = links[i % links.length];
  if (link === undefined) break;
  const record = toLinkRecord(link, version + i + 1, account);
  connection.publish(linkSubject({ domain: "", alias: link.alias }), encodeLinkRecord(record));
  const ahead = start + (i / perSecond) * 1_000 - performance.now();
  if (ahead > 1) await Bun.sleep(ahead);
}
await connection.drain();
