/** Splits links into requests that the API accepts. */
import { BULK_LINKS_MAX, BULK_PASSWORDS_MAX } from "../../../../shared/contracts/link-schemas.ts";

/** The API accepts bodies of 1 MiB. */
const BATCH_BYTES_MAX = 1_000_000;

/** The maximum links of one request, the maximum with a password, and the maximum bytes as JSON. */
type BatchLimits = { links: number; passwords: number; bytes: number };

const REQUEST_LIMITS: BatchLimits = {
  links: BULK_LINKS_MAX,
  passwords: BULK_PASSWORDS_MAX,
  bytes: BATCH_BYTES_MAX,
};

const encoder = new TextEncoder();

/** What is sent of a link: a new one, or a change of one that exists. */
type Sent = { password?: string | null | undefined };

/** Splits links into batches within the limits, preserving their order. */
export function splitIntoBatches<Item extends { link: Sent }>(
  items: readonly Item[],
  limits = REQUEST_LIMITS,
): Item[][] {
  const batches: Item[][] = [];
  let batch: Item[] = [];
  let passwords = 0;
  let bytes = 0;
  for (const item of items) {
    // A comma separates it from the next one.
    const size = encoder.encode(JSON.stringify(item.link)).length + 1;
    const weight = item.link.password === undefined || item.link.password === null ? 0 : 1;
    const isFull =
      batch.length === limits.links ||
      passwords + weight > limits.passwords ||
      bytes + size > limits.bytes;
    if (isFull && batch.length > 0) {
      batches.push(batch);
      batch = [];
      passwords = 0;
      bytes = 0;
    }
    batch.push(item);
    passwords += weight;
    bytes += size;
  }
  return batch.length === 0 ? batches : [...batches, batch];
}
