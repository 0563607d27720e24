/** Conditions of rules, from the schema of the API. */
import { formatRoute, listRoutes } from "../routes.ts";
import { fillSchema } from "./schema-values.ts";

/** One condition of each kind that the API accepts, with as many values as 200 of them may have. */
export function sampleConditions(): Record<string, unknown>[] {
  const body = listRoutes().find((route) => formatRoute(route) === "api POST /v1/links")?.body;
  const condition = body?.$defs?.["LinkCondition"];
  return (condition?.oneOf ?? []).map((kind) => {
    const schema = { ...kind, $defs: body?.$defs ?? {} };
    const extent = {
      // Of a few possible values only one, so that the visitor's is another.
      items: (most: number) => (kind.properties?.["in"]?.items?.enum === undefined ? most : 1),
      length: () => 12,
      optional: true,
      choice: 0,
      linkId: "",
      nonce: "v",
    };
    // The schema describes an object.
    return fillSchema(schema, extent) as Record<string, unknown>;
  });
}
