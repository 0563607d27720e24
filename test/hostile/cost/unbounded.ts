/** Finds inputs without a bound of their own in the schemas of the routes. */
import type { BodySchema, Route } from "../routes.ts";

/** The paths of texts and lists in the query and the body of a route that may have any length. */
export const listUnbounded = ({ parameters, body }: Route): string[] => [
  ...(parameters === undefined ? [] : walk(parameters, parameters, "query", [])),
  ...(body === undefined ? [] : walk(body, body, "body", [])),
];

function walk(
  schema: BodySchema,
  root: BodySchema,
  path: string,
  seen: readonly BodySchema[],
): string[] {
  if (seen.includes(schema)) return [];
  const inside = [...seen, schema];
  const named = root.$defs?.[schema.$ref?.split("/").at(-1) ?? ""];
  if (named !== undefined) return walk(named, root, path, inside);
  const types = typeof schema.type === "object" ? schema.type : [schema.type];
  const { pattern, format, maxLength, maxItems, enum: values, const: value } = schema;
  const hasForm = pattern !== undefined || format !== undefined || values !== undefined;
  const found: string[] = [];
  if (types.includes("string") && maxLength === undefined && !hasForm && value === undefined)
    found.push(path);
  if (types.includes("array") && maxItems === undefined) found.push(`${path}[]`);
  for (const choice of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])])
    found.push(...walk(choice, root, path, inside));
  for (const [name, member] of Object.entries(schema.properties ?? {}))
    found.push(...walk(member, root, `${path}.${name}`, inside));
  if (schema.items !== undefined) found.push(...walk(schema.items, root, `${path}[]`, inside));
  return found;
}
