/** Goal: whoever watches a link sees its clicks as they come, each once, for as long as they may. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import * as z from "zod";

import { admin, createAccount, createKey } from "../harness/admin.ts";
import { call, linkAnswer } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { type Stack, startStack } from "../harness/stack.ts";

const SEEN_MS = 10_000;

let stack: Stack;
let account: { id: string; key: string };
beforeAll(async () => {
  stack = await startStack();
  account = await createAccount(stack, "enterprise");
});
afterAll(async () => await stack[Symbol.asyncDispose]());

const api = (path: string) => `${stack.info().api_url}${path}`;

async function createLink() {
  const body = { url: "https://example.com/live" };
  return linkAnswer.parse((await call(api("/v1/links"), { key: account.key, body })).body);
}

type Event = { id: string; data: Record<string, unknown> };

/** Follows a stream; events are added as they come. */
async function watch(id: string, { key = account.key, lastEventId = "" } = {}) {
  const leave = new AbortController();
  const answer = await fetch(api(`/v1/analytics/${id}/stream`), {
    headers: {
      authorization: `Bearer ${key}`,
      ...(lastEventId === "" ? {} : { "last-event-id": lastEventId }),
    },
    signal: leave.signal,
  });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  const events: Event[] = [];
  const state = { events, ended: false, leave: () => leave.abort() };
  void (async () => {
    let text = "";
    const decoder = new TextDecoder();
    try {
      for await (const part of answer.body ?? []) {
        text += decoder.decode(part, { stream: true });
        const whole = text.split("\n\n");
        text = whole.pop() ?? "";
        for (const lines of whole) {
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
      // Left by this end.
    }
    state.ended = true;
  })();
  return state;
}

const follow = (url: string, address: string) =>
  call(url, { headers: { "x-forwarded-for": address, "user-agent": "curl/8" } });

describe("clicks as they come", () => {
  test("are each told once, and a client that comes back goes on where it was", async () => {
    const { id, short_url } = await createLink();
    await follow(short_url, "8.8.8.8");
    await eventually(async () => {
      const { body } = await call(api(`/v1/links/${id}`), { key: account.key });
      expect(linkAnswer.parse(body).clicks).toBe(1);
    }, SEEN_MS);

    const first = await watch(id);
    for (const address of ["8.8.8.8", "81.2.69.142"]) await follow(short_url, address);
    await eventually(async () => expect(first.events).toHaveLength(2), SEEN_MS);
    expect(first.events.map(({ data }) => data["country"])).toEqual(["US", "GB"]);
    expect(first.events[0]?.data).toMatchObject({ class: "human", referrer: "direct" });
    expect(JSON.stringify(first.events)).not.toContain("8.8.8.8");
    first.leave();

    await follow(short_url, "127.0.0.1");
    const second = await watch(id, { lastEventId: first.events[0]?.id ?? "" });
    await eventually(async () => expect(second.events).toHaveLength(2), SEEN_MS);
    expect(second.events[0]).toEqual(first.events[1]);
    expect(second.events[1]?.data).toMatchObject({ country: "ZZ" });
    await follow(short_url, "8.8.8.8");
    await eventually(async () => expect(second.events).toHaveLength(3), SEEN_MS);
    expect(new Set(second.events.map((event) => event.id)).size).toBe(3);
    second.leave();
  });

  test("end for a key that is revoked", async () => {
    const { id } = await createLink();
    const { id: keyId, key } = await createKey(stack, account.id, "analytics:read");
    const watching = await watch(id, { key });
    await admin(stack, ["keys", "revoke", keyId]);
    await eventually(async () => expect(watching.ended).toBe(true), SEEN_MS);
  });
});
