/** Goal: an event reaches a receiver from the whole product, signed, and its owner sees that. */
import { expect, test } from "bun:test";

import { Webhook } from "standardwebhooks";
import * as z from "zod";

import { createAccount } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { useStack } from "../harness/stack.ts";
import { WebhookReceiver } from "../harness/webhook-receiver.ts";

const createdSchema = z.object({ id: z.string(), secret: z.string() });

const deliveriesSchema = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      status: z.string(),
      error: z.string().nullable(),
      response_status: z.number().nullable(),
    }),
  ),
});

const stack = await forFile(useStack());
const account = await createAccount(stack, "pro");

const api = (path: string, options: { method?: string; body?: unknown } = {}) =>
  call(`${stack.info().api_url}/v1/webhooks${path}`, { key: account.key, ...options });

const feed = (query: string) =>
  call(`${stack.info().api_url}/v1/events?${query}`, { key: account.key });

const create = async (url: string, events = ["*"]) =>
  createdSchema.parse((await api("", { body: { url, events } })).body);

test("a test is delivered, signed, and is in the log of deliveries", async () => {
  await using receiver = new WebhookReceiver();
  const { id, secret } = await create(receiver.url);
  await api(`/${id}/test`, { method: "POST" });
  const [first] = await eventually(async () => {
    expect(receiver.got).toHaveLength(1);
    return receiver.got;
  });
  const event = new Webhook(secret).verify(first?.body ?? "", first?.headers ?? {});
  expect(event).toMatchObject({ type: "webhook.test", data: { webhook: { id } }, mode: "live" });
  await eventually(async () => {
    const { data } = deliveriesSchema.parse((await api(`/${id}/deliveries`)).body);
    expect(data).toMatchObject([{ status: "delivered", response_status: 200 }]);
  });
});

test("types of events that do not exist are refused, and those that do are named", async () => {
  const url = "https://hooks.example.com/";
  const { id } = await create(url, ["link.created"]);
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
