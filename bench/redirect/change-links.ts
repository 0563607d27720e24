/**
 * Changes links in turn at a steady rate, in entries of the changes of some milliseconds.
 * `NATS_URL=… bun bench/redirect/change-links.ts LINKS COUNT PER_SECOND`
 */
import { encodeLinkRecord } from "../../shared/contracts/link-record.ts";
import { newUuid } from "../../shared/ids.ts";
import { BenchLog } from "./bench-log.ts";
import { generateLinks, toLinkRecord } from "./links.ts";

const ENTRY_MS = 10;

const [count = 1, changes = 0, perSecond = 1] = process.argv.slice(2).map(Number);

const links = generateLinks(count);
const account = newUuid();
await using log = await BenchLog.open(process.env["NATS_URL"] ?? "");
const start = performance.now();
for (let sent = 0; sent < changes;) {
  const elapsed = (performance.now() - start) / 1_000;
  const due = Math.min(changes, Math.ceil(elapsed * perSecond));
  const states: Uint8Array[] = [];
  for (; sent < due; sent++) {
    const link = links[sent % links.length];
    if (link !== undefined) states.push(encodeLinkRecord(toLinkRecord(link, account)));
  }
  if (states.length > 0) await log.publish(states);
  await Bun.sleep(ENTRY_MS);
}
