/** Routes of `/v1/views`. */
import { Elysia } from "elysia";

import { saveViewBody } from "../../shared/contracts/view-schemas.ts";
import type { AuthPlugin } from "../auth/plugin.ts";
import { successResponse } from "../http/common-schemas.ts";
import { principalOf } from "../http/request-context.ts";
import { toViewResponse, viewListResponse, viewParams, viewResponse } from "./model.ts";
import type { ViewService } from "./service.ts";

type ViewRoutesDeps = { auth: AuthPlugin; views: ViewService };

const WRITE_ACCESS = { scope: "links:write", limit: null, cost: 1 } as const;

export const viewRoutes = ({ auth, views }: ViewRoutesDeps) =>
  new Elysia({ name: "views", prefix: "/v1/views", tags: ["Views"] })
    .use(auth)
    .get(
      "",
      async ({ call }) => ({ data: (await views.list(principalOf(call))).map(toViewResponse) }),
      {
        access: { scope: "analytics:read", limit: null, cost: 1 },
        response: { 200: viewListResponse },
        detail: {
          operationId: "listViews",
          summary: "List saved views",
          description: "All saved views of the account and mode, by name: at most 100.",
        },
      },
    )
    .put(
      "/:name",
      async ({ call, params: { name }, body: { query } }) =>
        toViewResponse(await views.save(principalOf(call), { name, query })),
      {
        access: WRITE_ACCESS,
        jsonBody: "required",
        errors: ["quota_exceeded"],
        params: viewParams,
        body: saveViewBody,
        response: { 200: viewResponse },
        detail: {
          operationId: "saveView",
          summary: "Save a view",
          description:
            "Saves the parameters of a view of analytics under a name, in place of the view that has it. An account and mode has up to 100 views.",
        },
      },
    )
    .delete(
      "/:name",
      async ({ call, params }) => {
        await views.remove(principalOf(call), params.name);
        return { success: true, message: "The view has been deleted." };
      },
      {
        access: WRITE_ACCESS,
        params: viewParams,
        response: { 200: successResponse },
        detail: { operationId: "deleteView", summary: "Delete a saved view" },
      },
    );
