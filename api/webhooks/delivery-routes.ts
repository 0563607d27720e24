/** Routes of the deliveries of a webhook. */
import { Elysia } from "elysia";

import { decodeId } from "../../shared/ids.ts";
import { listResponse, readListRequest } from "../http/pagination.ts";
import { principalOf } from "../http/request-context.ts";
import type { AccessPlugin } from "../site.ts";
import {
  deliveryListQuery,
  deliveryListResponse,
  deliveryParams,
  deliveryResponse,
  toDeliveryResponse,
  webhookParams,
} from "./model.ts";
import type { WebhookService } from "./service.ts";

type DeliveryRoutesDeps = { auth: AccessPlugin; webhooks: WebhookService };

/** Names the list in its cursors. */
const LIST = "deliveries";

const READ_ACCESS = { scope: "webhooks:read", limit: null, cost: 1 } as const;

const WRITE_ACCESS = { scope: "webhooks:write", limit: null, cost: 1 } as const;

export const deliveryRoutes = ({ auth, webhooks }: DeliveryRoutesDeps) =>
  new Elysia({ name: "webhook-deliveries", tags: ["Webhooks"] })
    .use(auth)
    .post(
      "/:id/test",
      async ({ call, params }) =>
        toDeliveryResponse(await webhooks.test(principalOf(call), decodeId("wh", params.id))),
      {
        access: WRITE_ACCESS,
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
      async ({ call, params, query: { status, ...query } }) => {
        const listRequest = readListRequest(query, LIST);
        const id = decodeId("wh", params.id);
        const part = await webhooks.listDeliveries(principalOf(call), id, status, listRequest);
        return listResponse(listRequest, part, LIST, toDeliveryResponse);
      },
      {
        access: READ_ACCESS,
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
      async ({ call, params }) => {
        const delivery = decodeId("dlv", params.delivery);
        const id = decodeId("wh", params.id);
        return toDeliveryResponse(await webhooks.retry(principalOf(call), id, delivery));
      },
      {
        access: WRITE_ACCESS,
        errors: ["conflict"],
        params: deliveryParams,
        response: { 200: deliveryResponse },
        detail: {
          operationId: "retryWebhookDelivery",
          summary: "Retry a delivery",
          description:
            "Delivers the event now, whatever came of it before. `conflict` unless the webhook is active.",
        },
      },
    );
