/** Pages of clicks that were set aside: how they are found, tried again, and given up. */
import { type JetStreamClient, type JetStreamManager, NatsError, type StoredMsg } from "nats";

import { decodePage, pageIdText } from "./click-page.ts";
import { CLICKS_SUBJECT, DEAD_CLICKS_STREAM } from "./streams.ts";

/** The header in which the worker says why. */
export const REASON_HEADER = "Shorthop-Reason";

export type DeadPage = {
  /** What a page is called here. */
  sequence: number;
  /** The page's id; null for what is no page at all. */
  page: string | null;
  clicks: number;
  bytes: number;
  reason: string;
  set_aside_at: string;
};

/** Every page that was set aside, oldest first. */
export async function listDeadPages(manager: JetStreamManager): Promise<DeadPage[]> {
  const pages: DeadPage[] = [];
  for await (const message of messagesOf(manager)) pages.push(describe(message));
  return pages;
}

/**
 * Sends a page on its way again. Under another message id than the first time, by which JetStream would
 * know it; its clicks are stored once all the same, for the page's own id has not changed. False when
 * there is no such page.
 */
export async function retryDeadPage(
  manager: JetStreamManager,
  client: JetStreamClient,
  sequence: number,
): Promise<boolean> {
  const message = await findMessage(manager, sequence);
  if (message === undefined) return false;
  await client.publish(CLICKS_SUBJECT, message.data, { msgID: `dlq:${sequence}:${Date.now()}` });
  return await manager.streams.deleteMessage(DEAD_CLICKS_STREAM, sequence);
}

/** Gives a page up for good; false when there is no such page. */
export async function dropDeadPage(manager: JetStreamManager, sequence: number): Promise<boolean> {
  if ((await findMessage(manager, sequence)) === undefined) return false;
  return await manager.streams.deleteMessage(DEAD_CLICKS_STREAM, sequence);
}

function describe({ seq, data, header, time }: StoredMsg): DeadPage {
  const page = decodePage(Buffer.from(data));
  return {
    sequence: seq,
    page: page === undefined ? null : pageIdText(page),
    clicks: page?.clicks.length ?? 0,
    bytes: data.length,
    reason: header.get(REASON_HEADER),
    set_aside_at: time.toISOString(),
  };
}

async function* messagesOf(manager: JetStreamManager): AsyncGenerator<StoredMsg> {
  const { state } = await manager.streams.info(DEAD_CLICKS_STREAM);
  if (state.messages === 0) return;
  for (let sequence = state.first_seq; sequence <= state.last_seq; sequence++) {
    const message = await findMessage(manager, sequence);
    if (message !== undefined) yield message;
  }
}

async function findMessage(
  manager: JetStreamManager,
  sequence: number,
): Promise<StoredMsg | undefined> {
  try {
    return await manager.streams.getMessage(DEAD_CLICKS_STREAM, { seq: sequence });
  } catch (error) {
    if (error instanceof NatsError && error.api_error?.code === NOT_FOUND) return undefined;
    throw error;
  }
}

const NOT_FOUND = 404;
