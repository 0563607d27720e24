/** What another implementation signs is accepted, and nothing else. */
import { expect, test } from "bun:test";

import { Webhook } from "standardwebhooks";

import { verifyWebhook, WebhookVerificationError } from "./index.ts";

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

const OTHER_SECRET = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;

const EVENT = {
  id: "event_1",
  type: "link.created",
  created_at: "2026-03-02T09:15:00.000Z",
  mode: "live",
  data: { link: { title: "Grüße 🎉" } },
  actor: { type: "system" },
};

const BODY = JSON.stringify(EVENT);

function sign(secrets: readonly string[], at = new Date()) {
  const signatures = secrets.map((secret) => new Webhook(secret).sign(EVENT.id, at, BODY));
  return {
    "webhook-id": EVENT.id,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
    "webhook-signature": signatures.join(" "),
  };
}

const refused = (promise: Promise<unknown>) =>
  expect(promise).rejects.toBeInstanceOf(WebhookVerificationError);

test("accepts signed events as text and bytes, with headers of fetch and of Node", async () => {
  const headers = sign([SECRET]);
  expect(await verifyWebhook(BODY, headers, SECRET)).toEqual(EVENT as never);
  const bytes = new TextEncoder().encode(BODY);
  expect(await verifyWebhook(bytes, new Headers(headers), SECRET)).toEqual(EVENT as never);
});

test("accepts either secret of a rotation", async () => {
  const headers = sign([OTHER_SECRET, SECRET]);
  for (const secret of [SECRET, OTHER_SECRET])
    expect((await verifyWebhook(BODY, headers, secret)).id).toBe(EVENT.id);
});

test("refuses another body, id, time or secret, and what is no signature", async () => {
  const headers = sign([SECRET]);
  refused(verifyWebhook(`${BODY} `, headers, SECRET));
  refused(verifyWebhook(BODY, headers, OTHER_SECRET));
  refused(verifyWebhook(BODY, { ...headers, "webhook-id": "event_2" }, SECRET));
  const later = String(Number(headers["webhook-timestamp"]) + 1);
  refused(verifyWebhook(BODY, { ...headers, "webhook-timestamp": later }, SECRET));
  const [, value = ""] = headers["webhook-signature"].split(",");
  for (const signature of ["v1,", "v1,%%%", `v2,${value}`, value, "v1"])
    refused(verifyWebhook(BODY, { ...headers, "webhook-signature": signature }, SECRET));
  for (const name of Object.keys(headers))
    refused(verifyWebhook(BODY, { ...headers, [name]: undefined }, SECRET));
});

test("refuses what was signed too early or too late, unless that is allowed", async () => {
  for (const minutes of [-6, 6]) {
    const headers = sign([SECRET], new Date(Date.now() + minutes * 60_000));
    refused(verifyWebhook(BODY, headers, SECRET));
    const event = await verifyWebhook(BODY, headers, SECRET, { toleranceSeconds: 600 });
    expect(event.id).toBe(EVENT.id);
  }
});

test("a secret that is none is a mistake of the program", async () => {
  expect(verifyWebhook(BODY, sign([SECRET]), "")).rejects.toThrow(TypeError);
});
