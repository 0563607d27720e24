/** Rules for saved views of analytics, shared by the API and the dashboard's form. */
import * as z from "zod";

import { plainText } from "./text.ts";

const NAME_LENGTH_MAX = 100;

/** As many bytes: a query is ASCII. Browsers and proxies accept URLs of about this length. */
const QUERY_LENGTH_MAX = 8_000;

export const viewName = plainText(NAME_LENGTH_MAX).trim().min(1);

export const viewNameMeta = {
  description: "The name of the view.",
  examples: ["Phones in Germany"],
};

export const viewQueryMeta = {
  description:
    "The parameters of the view as the query of a URL, without a question mark: filters, period and comparison of `/v1/analytics`, and others that the reader of the view understands.",
  examples: ["period=30d&country=DE&device=mobile"],
};

export const saveViewBody = z
  .strictObject({
    query: z
      .string()
      .max(QUERY_LENGTH_MAX)
      .regex(
        /^(?!\?)[!-~]*$/,
        "must be the query of a URL, percent-encoded, without a question mark",
      )
      .meta(viewQueryMeta),
  })
  .meta({ id: "SaveViewRequest", description: "A view to save." });
