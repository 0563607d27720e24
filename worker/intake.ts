/** The intake: decides what becomes of each delivered message, and collects new segments. */
import type { JsMsg } from "nats";

import {
  type ClickSegment,
  decodeSegment,
  readSegmentId,
} from "../shared/contracts/click-segment.ts";
import type { Collector } from "./batches/collector.ts";
import type { Owner } from "./batches/owner.ts";
import { findFlaw, prepareSegment } from "./batches/prepare.ts";
import type { Outcomes } from "./outcomes.ts";

type IntakeDeps<Rows> = {
  owner: Pick<Owner<Rows>, "has">;
  collector: Collector<Rows>;
  outcomes: Outcomes;
  /** Makes the rows of a segment. */
  rowsOf: (segment: ClickSegment) => Promise<Rows>;
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
    const segment = decodeSegment(data);
    const flaw = segment === undefined ? "not a segment of clicks" : findFlaw(segment);
    if (segment === undefined || flaw !== undefined) {
      const clicks = segment?.clicks.length ?? 0;
      return await outcomes.refused([message], { id: segment, clicks, reason: flaw ?? "" });
    }
    if (segment.clicks.length === 0) return outcomes.stored([message], segment.whole, 0);
    const prepared = await prepareSegment(segment, message.seq, rowsOf);
    const messages = new Map([[message.seq, message]]);
    collector.add({ ...prepared, bytes: data.length, whole: segment.whole, messages });
  };
