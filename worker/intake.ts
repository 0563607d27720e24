/** The intake: decides what becomes of each delivered message, and collects new segments. */
import type { JsMsg } from "nats";

import { readSegmentId } from "../shared/contracts/click-segment.ts";
import type { Collector } from "./batches/collector.ts";
import type { Owner } from "./batches/owner.ts";
import type { Prepare } from "./batches/prepare.ts";
import type { Outcomes } from "./outcomes.ts";

type IntakeDeps<Rows> = {
  owner: Pick<Owner<Rows>, "has">;
  collector: Collector<Rows>;
  outcomes: Outcomes;
  rowsOf: Prepare<Rows>;
};

/** Creates the function that takes in one message after the other. */
export const createIntake =
  <Rows>({ owner, collector, outcomes, rowsOf }: IntakeDeps<Rows>) =>
  async (message: JsMsg): Promise<void> => {
    if (collector.isClosed()) return outcomes.returned([message]);
    const data = Buffer.from(message.data);
    const id = readSegmentId(data);
    if (id !== undefined && owner.has(id)) return outcomes.duplicate(message);
    const held = id === undefined ? undefined : collector.find(id);
    if (held !== undefined) {
      held.messages.set(message.seq, message);
      return;
    }
    const prepared = await rowsOf(data);
    if (prepared === undefined) {
      const reason = id === undefined ? "not a segment of clicks" : "a record is no valid click";
      return await outcomes.refused([message], { id, clicks: 0, reason });
    }
    if (prepared.clicks === 0) return outcomes.stored([message], prepared.whole, 0);
    const messages = new Map([[message.seq, message]]);
    collector.add({
      ...prepared,
      sequence: message.seq,
      publishedAt: message.info.timestampNanos,
      bytes: data.length,
      messages,
    });
  };
