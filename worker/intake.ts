/** The intake: decides what becomes of each delivered message, and collects new segments. */
import type { JsMsg } from "nats";

import { readSegmentId } from "../shared/contracts/click-segment.ts";
import type { Collector } from "./batches/collector.ts";
import type { RowsOf } from "./batches/deps.ts";
import type { Owner } from "./batches/owner.ts";
import { findFlaw } from "./batches/prepare.ts";
import type { Outcomes } from "./outcomes.ts";

type IntakeDeps<Rows> = {
  owner: Pick<Owner<Rows>, "has">;
  collector: Collector<Rows>;
  outcomes: Outcomes;
  rowsOf: RowsOf<Rows>;
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
    const segment = await rowsOf(data);
    if (segment === undefined) {
      const reason = "not a segment of clicks";
      return await outcomes.refused([message], { id: undefined, clicks: 0, reason });
    }
    const { clicks, whole } = segment;
    if (clicks === 0) return outcomes.stored([message], whole, 0);
    const reason = findFlaw(segment);
    if (reason !== undefined)
      return await outcomes.refused([message], { id: segment, clicks, reason });
    const messages = new Map([[message.seq, message]]);
    collector.add({ ...segment, sequence: message.seq, bytes: data.length, messages });
  };
