/** Routes of what is saved under a name: `/v1/views`, `/v1/link-filters`, `/v1/utm-templates`. */
import { Elysia } from "elysia";
import * as z from "zod";

import { component } from "../../shared/contracts/components.ts";
import { CREATED_AT } from "../../shared/contracts/examples.ts";
import {
  saveViewBody,
  type ViewKind,
  viewName,
  viewNameMeta,
  viewQueryMeta,
} from "../../shared/contracts/view-schemas.ts";
import { confirmAfter, instant, items, successResponse } from "../http/common-schemas.ts";
import { principalOf } from "../http/request-context.ts";
import type { AccessPlugin } from "../site.ts";
import type { ViewRow, ViewService } from "./service.ts";

export const viewRoutes = (auth: AccessPlugin, views: ViewService) =>
  new Elysia({ name: "views" })
    .use(routesOf(auth, views, VIEWS))
    .use(routesOf(auth, views, LINK_FILTERS))
    .use(routesOf(auth, views, UTM_TEMPLATES));

/** How the paths and the documentation of a kind differ from those of the others. */
type Resource = {
  kind: ViewKind;
  path: `/v1/${string}`;
  readScope: "analytics:read" | "links:read";
  /** Of the operations: `listViews`, `saveView`. */
  plural: string;
  singular: string;
  /** As texts call one: `saved view`. */
  called: string;
  /** The saved thing, in a sentence. */
  saved: string;
};

const VIEWS: Resource = {
  kind: "analytics",
  path: "/v1/views",
  readScope: "analytics:read",
  plural: "Views",
  singular: "View",
  called: "saved view",
  saved: "the parameters of a view of analytics",
};

const LINK_FILTERS: Resource = {
  kind: "links",
  path: "/v1/link-filters",
  readScope: "links:read",
  plural: "LinkFilters",
  singular: "LinkFilter",
  called: "saved filter",
  saved: "parameters of `GET /v1/links` that select links, such as those of a campaign,",
};

const UTM_TEMPLATES: Resource = {
  kind: "utm",
  path: "/v1/utm-templates",
  readScope: "links:read",
  plural: "UtmTemplates",
  singular: "UtmTemplate",
  called: "UTM template",
  saved: "UTM parameters that new links are to get",
};

function routesOf(auth: AccessPlugin, views: ViewService, resource: Resource) {
  const { kind, path, readScope, plural, singular, called, saved } = resource;
  return new Elysia({ name: path, prefix: path, tags: ["Views"] })
    .use(auth)
    .get(
      "",
      async ({ call }) => ({
        data: (await views.list(principalOf(call), kind)).map(toViewResponse),
      }),
      {
        access: readScope,
        response: { 200: viewListResponse },
        detail: {
          operationId: `list${plural}`,
          summary: `List ${called}s`,
          description: `Every ${called} of the account and mode, by name: at most 100.`,
        },
      },
    )
    .put(
      "/:name",
      async ({ call, params: { name }, body: { query } }) =>
        toViewResponse(await views.save(principalOf(call), kind, { name, query })),
      {
        access: "links:write",
        errors: ["quota_exceeded"],
        params: viewParams,
        body: saveViewBody,
        response: { 200: viewResponse },
        detail: {
          operationId: `save${singular}`,
          summary: `Save a ${called}`,
          description: `Saves ${saved} under a name, and replaces what had that name. An account and mode has up to 100 of them.`,
        },
      },
    )
    .delete(
      "/:name",
      ({ call, params }) =>
        confirmAfter(
          views.remove(principalOf(call), kind, params.name),
          `The ${called} has been deleted.`,
        ),
      {
        access: "links:write",
        params: viewParams,
        response: { 200: successResponse },
        detail: { operationId: `delete${singular}`, summary: `Delete a ${called}` },
      },
    );
}

const viewParams = z.object({
  name: viewName.meta({ ...viewNameMeta, description: "The name, percent-encoded." }),
});

const viewResponse = component(
  "SavedView",
  "A saved view of analytics, filter of links or template of UTM parameters.",
  {
    name: z.string().meta(viewNameMeta),
    query: z.string().meta(viewQueryMeta),
    created_at: instant("When it was saved first.", CREATED_AT),
    updated_at: instant("When it was saved last.", CREATED_AT),
  },
);

const viewListResponse = component(
  "SavedViewList",
  "Everything of one kind that the account and mode has saved.",
  { data: items("All of the kind, by name.", viewResponse) },
);

const toViewResponse = ({ created_at, updated_at, ...view }: ViewRow) => ({
  ...view,
  created_at: created_at.toISOString(),
  updated_at: updated_at.toISOString(),
});
