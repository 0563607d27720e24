/** Goal: who asks for events that do not exist learns which do. */
import { expect, test } from "bun:test";

import * as z from "zod";

import { createAccount } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { forFile } from "../harness/for-file.ts";
import { useStack } from "../harness/stack.ts";

const stack = await forFile(useStack());
const account = await createAccount(stack, "pro");

const api = (path: string, options: { method?: string; body?: unknown } = {}) =>
  call(`${stack.info().api_url}/v1/webhooks${path}`, { key: account.key, ...options });

const feed = (query: string) =>
  call(`${stack.info().api_url}/v1/events?${query}`, { key: account.key });

test("types of events that do not exist are refused, and those that do are named", async () => {
  const url = "https://hooks.example.com/";
  const { body } = await api("", { body: { url, events: ["link.created"] } });
  const { id } = z.object({ id: z.string() }).parse(body);
  for (const [response, param] of [
    [await api("", { body: { url, events: ["link.created", "link.opened"] } }), "events.1"],
    [await api(`/${id}`, { method: "PATCH", body: { events: ["links.*"] } }), "events.0"],
    [await feed("type=link.opened"), "type"],
    [await feed("type=link.created&type=link.opened"), "type"],
  ] as const) {
    expect(response).toMatchObject({ status: 400, body: { error: { param } } });
    expect(JSON.stringify(response.body)).toContain("link.deleted");
  }
  expect(await feed("type=link.created&type=clicks.recorded")).toMatchObject({ status: 200 });
});
