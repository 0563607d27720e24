/** Routes of `/v1/webhooks`, and of the deliveries of a webhook. */
import { Elysia } from "elysia";

import {
  newWebhookBody,
  replayBody,
  updateWebhookBody,
} from "../../shared/contracts/webhook-schemas.ts";
import { confirmAfter, successResponse } from "../http/common-schemas.ts";
import { listQuery, type ListRequest, respondWithList } from "../http/pagination.ts";
import { principalOf } from "../http/request-context.ts";
import { created } from "../idempotency/idempotency.ts";
import type { AccessPlugin } from "../site.ts";
import {
  deliveryListQuery,
  deliveryListResponse,
  deliveryParams,
  deliveryResponse,
  newWebhookResponse,
  toDeliveryResponse,
  toWebhookResponse,
  webhookListResponse,
  webhookParams,
  webhookResponse,
} from "./model.ts";
import type { WebhookService } from "./service.ts";

export const webhookRoutes = (auth: AccessPlugin, webhooks: WebhookService) =>
  new Elysia({ name: "webhooks", prefix: "/v1/webhooks", tags: ["Webhooks"] })
    .use(auth)
    .post(
      "",
      ({ body, runOnce }) =>
        runOnce(async (principal, id) => {
          const { row, secret } = await webhooks.create(principal, id, body);
          return created("/v1/webhooks", { ...toWebhookResponse(row), secret });
        }),
      {
        access: "webhooks:write",
        idempotent: "secret",
        errors: ["invalid_url", "quota_exceeded"],
        body: newWebhookBody,
        response: { 201: newWebhookResponse },
        detail: {
          operationId: "createWebhook",
          summary: "Create a webhook",
          description:
            "Events from now on are posted to the URL, signed as Standard Webhooks describes. Only this response contains the secret. An account and mode has up to 50 webhooks. `unavailable` where webhooks are not set up.",
        },
      },
    )
    .get(
      "",
      ({ call, query }) =>
        respondWithList(
          query,
          "webhooks",
          (request) => webhooks.list(principalOf(call), request),
          toWebhookResponse,
        ),
      {
        access: "webhooks:read",
        query: listQuery,
        response: { 200: webhookListResponse },
        detail: { operationId: "listWebhooks", summary: "List webhooks" },
      },
    )
    .get(
      "/:id",
      async ({ call, params }) =>
        toWebhookResponse(await webhooks.get(principalOf(call), params.id)),
      {
        access: "webhooks:read",
        params: webhookParams,
        response: { 200: webhookResponse },
        detail: { operationId: "getWebhook", summary: "Get a webhook" },
      },
    )
    .patch(
      "/:id",
      async ({ call, params, body }) =>
        toWebhookResponse(await webhooks.update(principalOf(call), params.id, body)),
      {
        access: "webhooks:write",
        errors: ["invalid_url"],
        params: webhookParams,
        body: updateWebhookBody,
        response: { 200: webhookResponse },
        detail: {
          operationId: "updateWebhook",
          summary: "Change a webhook",
          description:
            "Changes the fields that the body has; `status` pauses the webhook, or continues it. Events that were not delivered meanwhile are delivered then, as far as they are still kept.",
        },
      },
    )
    .delete(
      "/:id",
      ({ call, params }) =>
        confirmAfter(
          webhooks.remove(principalOf(call), params.id),
          "The webhook has been deleted.",
        ),
      {
        access: "webhooks:write",
        params: webhookParams,
        response: { 200: successResponse },
        detail: {
          operationId: "deleteWebhook",
          summary: "Delete a webhook",
          description: "Its deliveries are deleted as well.",
        },
      },
    )
    .post(
      "/:id/rotate",
      ({ params, runOnce }) =>
        runOnce(async (principal) => {
          const { row, secret } = await webhooks.rotate(principal, params.id);
          return { status: 200 as const, body: { ...toWebhookResponse(row), secret } };
        }),
      {
        access: "webhooks:write",
        idempotent: "secret",
        params: webhookParams,
        response: { 200: newWebhookResponse },
        detail: {
          operationId: "rotateWebhookSecret",
          summary: "Rotate the secret of a webhook",
          description:
            "Only this response contains the new secret. For 24 hours deliveries are signed with it and with the one before it; older ones are no longer valid.",
        },
      },
    )
    .post(
      "/:id/replay",
      ({ call, params, body }) =>
        confirmAfter(
          webhooks.replay(principalOf(call), params.id, body.starting_after),
          "The events are delivered again.",
        ),
      {
        access: "webhooks:write",
        params: webhookParams,
        body: replayBody,
        response: { 200: successResponse },
        detail: {
          operationId: "replayWebhook",
          summary: "Deliver events again",
          description:
            "Delivers every event after the given one again, also those that have been delivered: receivers recognise them by their ids.",
        },
      },
    )
    .use(deliveryRoutes(auth, webhooks));

const deliveryRoutes = (auth: AccessPlugin, webhooks: WebhookService) =>
  new Elysia({ name: "webhook-deliveries", tags: ["Webhooks"] })
    .use(auth)
    .post(
      "/:id/test",
      async ({ call, params }) =>
        toDeliveryResponse(await webhooks.test(principalOf(call), params.id)),
      {
        access: "webhooks:write",
        errors: ["conflict"],
        params: webhookParams,
        response: { 200: deliveryResponse },
        detail: {
          operationId: "testWebhook",
          summary: "Test a webhook",
          description:
            "Sends the webhook an event of the type `webhook.test`, which no other webhook gets. `conflict` unless it is active.",
        },
      },
    )
    .get(
      "/:id/deliveries",
      ({ call, params, query: { status, ...query } }) => {
        const read = (request: ListRequest) =>
          webhooks.listDeliveries(principalOf(call), params.id, status, request);
        return respondWithList(query, "deliveries", read, toDeliveryResponse);
      },
      {
        access: "webhooks:read",
        params: webhookParams,
        query: deliveryListQuery,
        response: { 200: deliveryListResponse },
        detail: {
          operationId: "listWebhookDeliveries",
          summary: "List the deliveries of a webhook",
          description: "Newest first. Deliveries are kept for 30 days.",
        },
      },
    )
    .post(
      "/:id/deliveries/:delivery/retry",
      async ({ call, params: { id, delivery } }) =>
        toDeliveryResponse(await webhooks.retry(principalOf(call), id, delivery)),
      {
        access: "webhooks:write",
        errors: ["conflict"],
        params: deliveryParams,
        response: { 200: deliveryResponse },
        detail: {
          operationId: "retryWebhookDelivery",
          summary: "Retry a delivery",
          description:
            "Delivers the event now, whatever the result of earlier attempts. `conflict` unless the webhook is active.",
        },
      },
    );
