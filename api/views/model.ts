/** Schemas of what is saved under a name, and the rows they come from. */
import * as z from "zod";

import { CREATED_AT } from "../../shared/contracts/examples.ts";
import { newLinkBody } from "../../shared/contracts/link-schemas.ts";
import {
  type ViewKind,
  viewName,
  viewNameMeta,
  viewQueryMeta,
} from "../../shared/contracts/view-schemas.ts";
import { validateValue } from "../http/validation.ts";
import { linkConditions } from "../links/model.ts";

export const viewParams = z.object({
  name: viewName.meta({ ...viewNameMeta, description: "The name, percent-encoded." }),
});

export const viewResponse = z
  .object({
    name: z.string().meta(viewNameMeta),
    query: z.string().meta(viewQueryMeta),
    created_at: z.iso
      .datetime()
      .meta({ description: "When it was saved first.", examples: [CREATED_AT] }),
    updated_at: z.iso
      .datetime()
      .meta({ description: "When it was saved last.", examples: [CREATED_AT] }),
  })
  .meta({
    id: "SavedView",
    description: "A saved view of analytics, filter of links or template of UTM parameters.",
  });

export const viewListResponse = z
  .object({ data: z.array(viewResponse).meta({ description: "All of the kind, by name." }) })
  .meta({ id: "SavedViewList", description: "What an account and mode has saved of a kind." });

const { utm_source, utm_medium, utm_campaign, utm_term, utm_content } = newLinkBody.shape;

/** What queries may have. Those of analytics have what their reader understands. */
const PARAMETERS: Readonly<Record<ViewKind, z.ZodType>> = {
  analytics: z.unknown(),
  links: linkConditions.strict(),
  utm: z.strictObject({ utm_source, utm_medium, utm_campaign, utm_term, utm_content }),
};

/** Throws `invalid_request` for a query that what it is saved for would not accept. */
export function requireParameters(kind: ViewKind, query: string): void {
  // In one pass: `getAll` for each of thousands of names would take a fifth of a second.
  const byName = Map.groupBy(new URLSearchParams(query), ([name]) => name);
  const values = [...byName].map(([name, found]) => {
    const [first, ...others] = found.map(([, value]) => value);
    return [name, others.length === 0 ? first : [first, ...others]] as const;
  });
  validateValue(PARAMETERS[kind], Object.fromEntries(values));
}

/** A query, and the name under which it is saved. */
export type NamedQuery = { name: string; query: string };

/** As stored in PostgreSQL. */
export type ViewRow = NamedQuery & { created_at: Date; updated_at: Date };

export const toViewResponse = ({ created_at, updated_at, ...view }: ViewRow) => ({
  ...view,
  created_at: created_at.toISOString(),
  updated_at: updated_at.toISOString(),
});
