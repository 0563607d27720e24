/**
 * Handles delivered messages: collects new segments, and acknowledges, returns or dead-letters all
 * others.
 */
import type { JsMsg } from "nats";

import { readSegmentId } from "../../shared/contracts/click-segment.ts";
import type { Collector } from "../batches/collector.ts";
import type { Owner } from "../batches/owner.ts";
import type { EnrichSegment } from "../enrich/rows.ts";
import type { Acknowledger } from "./acknowledger.ts";

type HandlerDeps = {
  owner: Pick<Owner, "has">;
  collector: Collector;
  acknowledger: Acknowledger;
  enrich: EnrichSegment;
};

export type MessageHandler = (message: JsMsg) => Promise<void>;

/** Creates the function that handles one message after the other. */
export const createMessageHandler =
  ({ owner, collector, acknowledger, enrich }: HandlerDeps): MessageHandler =>
  async (message) => {
    if (collector.isClosed()) return acknowledger.returnToStream([message]);
    const data = Buffer.from(message.data);
    const id = readSegmentId(data);
    if (id !== undefined && owner.has(id)) return acknowledger.acknowledgeDuplicate(message);
    const held = id === undefined ? undefined : collector.find(id);
    if (held !== undefined) {
      held.messages.set(message.seq, message);
      return;
    }
    const enriched = await enrich(data);
    if (enriched === undefined) {
      const reason = id === undefined ? "not a segment of clicks" : "a record is no valid click";
      return await acknowledger.deadLetter([message], { id, clicks: 0, reason });
    }
    if (enriched.clicks === 0) return acknowledger.acknowledge([message], enriched.whole, 0);
    const messages = new Map([[message.seq, message]]);
    collector.add({
      ...enriched,
      sequence: message.seq,
      publishedAt: message.info.timestampNanos,
      bytes: data.length,
      messages,
    });
  };
