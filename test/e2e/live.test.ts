/**
 * Goal: the live stream of a link delivers each click once. That it ends when its client may no
 * longer read it is in `api/analytics/live.test.ts` and `test/api/quotas.test.ts`.
 */
import { describe, expect, test } from "bun:test";

import * as z from "zod";

import { createAccount } from "../harness/admin.ts";
import { call, linkSchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { useStack } from "../harness/stack.ts";

const stack = await forFile(useStack());
const account = await createAccount(stack, "enterprise");

const api = (path: string) => `${stack.info().api_url}${path}`;

async function createLink() {
  const body = { url: "https://example.com/live" };
  return linkSchema.parse((await call(api("/v1/links"), { key: account.key, body })).body);
}

type Event = { id: string; data: Record<string, unknown> };

/** Opens a stream and collects its events. */
async function watch(id: string, lastEventId = "") {
  const abort = new AbortController();
  const response = await fetch(api(`/v1/analytics/${id}/stream`), {
    headers: {
      authorization: `Bearer ${account.key}`,
      ...(lastEventId === "" ? {} : { "last-event-id": lastEventId }),
    },
    signal: abort.signal,
  });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  const events: Event[] = [];
  void (async () => {
    let text = "";
    const decoder = new TextDecoder();
    try {
      for await (const part of response.body ?? []) {
        text += decoder.decode(part, { stream: true });
        const blocks = text.split("\n\n");
        text = blocks.pop() ?? "";
        for (const lines of blocks) {
          const [, eventId] = /^id: (.*)$/m.exec(lines) ?? [];
          const [, data] = /^data: (.*)$/m.exec(lines) ?? [];
          if (eventId !== undefined && data !== undefined)
            events.push({
              id: eventId,
              data: z.record(z.string(), z.unknown()).parse(JSON.parse(data)),
            });
        }
      }
    } catch {
      // Closed by the test.
    }
  })();
  return { events, close: () => abort.abort() };
}

const follow = (url: string, address: string) =>
  call(url, { headers: { "x-forwarded-for": address, "user-agent": "curl/8" } });

describe("a live stream of clicks", () => {
  test("delivers each click once, and continues where a reconnecting client left off", async () => {
    const { id, short_url } = await createLink();
    await follow(short_url, "8.8.8.8");
    await eventually(async () => {
      const { body } = await call(api(`/v1/links/${id}`), { key: account.key });
      expect(linkSchema.parse(body).clicks).toBe(1);
    });

    const first = await watch(id);
    for (const address of ["8.8.8.8", "81.2.69.142"]) await follow(short_url, address);
    await eventually(async () => expect(first.events).toHaveLength(2));
    expect(first.events.map(({ data }) => data["country"])).toEqual(["US", "GB"]);
    expect(first.events[0]?.data).toMatchObject({ class: "human", referrer: "direct" });
    expect(JSON.stringify(first.events)).not.toContain("8.8.8.8");
    first.close();

    await follow(short_url, "127.0.0.1");
    const second = await watch(id, first.events[0]?.id);
    await eventually(async () => expect(second.events).toHaveLength(2));
    expect(second.events[0]).toEqual(first.events[1]);
    expect(second.events[1]?.data).toMatchObject({ country: "ZZ" });
    await follow(short_url, "8.8.8.8");
    await eventually(async () => expect(second.events).toHaveLength(3));
    expect(new Set(second.events.map((event) => event.id)).size).toBe(3);
    second.close();
  });
});
