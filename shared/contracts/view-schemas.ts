/** Rules for what is saved under a name, shared by the API and the dashboard's forms. */
import * as z from "zod";

import { strictComponent } from "./components.ts";
import { nameInPath, plainText } from "./text-schemas.ts";

const NAME_LENGTH_MAX = 100;

/** As many bytes: a query is ASCII. Browsers and proxies accept URLs of about this length. */
const QUERY_LENGTH_MAX = 8_000;

export const viewName = nameInPath(plainText(NAME_LENGTH_MAX).trim());

/** Views of analytics, filters of the list of links, and templates of UTM values. */
export type ViewKind = "analytics" | "links" | "utm";

export const viewNameMeta = {
  description: "The name, unique among those of its kind.",
  examples: ["Phones in Germany"],
};

export const viewQueryMeta = {
  description:
    "What is saved as the query of a URL, without a question mark. Of a view: filters, period and comparison of `/v1/analytics`, and others that the reader of the view understands. Of a filter: parameters of `GET /v1/links` that select links. Of a template: UTM parameters.",
  examples: ["period=30d&country=DE&device=mobile"],
};

export const saveViewBody = strictComponent("SaveViewRequest", "What to save.", {
  query: z
    .string()
    .max(QUERY_LENGTH_MAX)
    .regex(/^(?!\?)[!-~]*$/, "must be the query of a URL, percent-encoded, without a question mark")
    .meta(viewQueryMeta),
});
