/** Schemas of saved views, and the rows they come from. */
import * as z from "zod";

import { CREATED_AT } from "../../shared/contracts/examples.ts";
import { viewName, viewNameMeta, viewQueryMeta } from "../../shared/contracts/view-schemas.ts";

export const viewParams = z.object({
  name: viewName.meta({ ...viewNameMeta, description: "The view's name, percent-encoded." }),
});

export const viewResponse = z
  .object({
    name: z.string().meta(viewNameMeta),
    query: z.string().meta(viewQueryMeta),
    created_at: z.iso
      .datetime()
      .meta({ description: "When the view was saved first.", examples: [CREATED_AT] }),
    updated_at: z.iso
      .datetime()
      .meta({ description: "When it was saved last.", examples: [CREATED_AT] }),
  })
  .meta({ id: "SavedView", description: "A saved view of analytics." });

export const viewListResponse = z
  .object({ data: z.array(viewResponse).meta({ description: "All views, by name." }) })
  .meta({ id: "SavedViewList", description: "The saved views of an account and mode." });

/** A view as stored in PostgreSQL. */
export type ViewRow = { name: string; query: string; created_at: Date; updated_at: Date };

export const toViewResponse = ({ created_at, updated_at, ...view }: ViewRow) => ({
  ...view,
  created_at: created_at.toISOString(),
  updated_at: updated_at.toISOString(),
});
