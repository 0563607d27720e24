/**
 * The pages of the API's reference, from its OpenAPI document: an introduction, a page for each
 * resource, and one of the objects in requests and responses.
 */
import type { Schema } from "../../shared/contracts/json-schema.ts";
import { REFERENCE, slugify } from "./pages.ts";

type Parameter = {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
};

type Contents = Readonly<Record<string, { schema?: Schema; example?: unknown }>>;

type Operation = {
  operationId: string;
  summary: string;
  description?: string;
  tags: readonly string[];
  parameters?: readonly Parameter[];
  requestBody?: { content: Contents };
  responses: Readonly<Record<string, { description?: string; content?: Contents }>>;
};

export type OpenApiDocument = {
  info: { description: string };
  tags: readonly { name: string; description: string }[];
  paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  components: { schemas: Readonly<Record<string, Schema>> };
};

/** An operation with its method and path, as the heading of an HTTP request. */
type Call = Operation & { request: string };

/** The page of the objects in requests and responses. */
export const OBJECTS = "Objects";

/** The path of the page of a resource, such as `Links`. */
export const referencePath = (resource: string): string => `reference/${slugify(resource)}.md`;

/** Prints the pages, by their paths. */
export function printReference(document: OpenApiDocument): Map<string, string> {
  const calls = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]): Call => ({
      ...operation,
      request: `${method.toUpperCase()} ${path}`,
    })),
  );
  const resources = document.tags.map(({ name, description }): [string, string] => [
    referencePath(name),
    printResource(
      name,
      description,
      calls.filter(({ tags }) => tags[0] === name),
    ),
  ]);
  return new Map([
    [REFERENCE, printGuide(document.info.description, calls)],
    ...resources,
    [referencePath(OBJECTS), printObjects(document.components.schemas)],
  ]);
}

/** A link to an operation, as the page has it that the API serves. */
const OPERATION_LINK = /\]\(#\/(?<resource>\w+)\/(?<id>\w+)\)/g;

const printGuide = (guide: string, calls: readonly Call[]): string =>
  `# API reference\n\n${guide.replaceAll(OPERATION_LINK, (_, resource: string, id: string) => {
    const call = calls.find(({ operationId }) => operationId === id);
    return `](/${referencePath(resource)}#${slugify(call?.summary ?? "")})`;
  })}`;

/** Parameters that so many operations of a page have are explained once. */
const SHARED_BY = 4;

function printResource(name: string, description: string, calls: readonly Call[]): string {
  const rows = calls.flatMap(({ parameters = [] }) => parameters.map(printParameter));
  const shared = rows.filter(
    (row) => rows.filter((other) => isSame(row, other)).length >= SHARED_BY,
  );
  const once = shared.filter((row, i) => shared.findIndex((other) => isSame(row, other)) === i);
  return join([
    `# ${name}`,
    description,
    ...calls.map((call) => printCall(call, once)),
    once.length > 0 && `## Parameters of several operations\n\n${printTable("Parameter", once)}`,
  ]);
}

const isSame = (row: readonly string[], other: readonly string[]): boolean =>
  row.every((cell, i) => cell === other[i]);

function printCall(call: Call, shared: readonly (readonly string[])[]): string {
  const rows = (call.parameters ?? []).map(printParameter);
  const isShared = (row: readonly string[]): boolean => shared.some((each) => isSame(row, each));
  const others = rows.filter(isShared).map(([name]) => name);
  const body = Object.values(call.requestBody?.content ?? {})[0];
  return join([
    `## ${call.summary}`,
    fence("http", call.request),
    call.description,
    printTable(
      "Parameter",
      rows.filter((row) => !isShared(row)),
    ),
    others.length > 0 &&
      `[Shared parameters](#parameters-of-several-operations): ${others.join(", ")}`,
    body?.schema && `The body is ${printType(body.schema)}, for example:`,
    body && fence("json", JSON.stringify(body.example, null, 2)),
    printResponses(call.responses),
  ]);
}

function printParameter({ name, in: place, required, description, schema }: Parameter): string[] {
  const type = place === "query" ? printType(schema) : `${printType(schema)}, in the ${place}`;
  return printRow(name, type, required === true, {
    ...schema,
    ...(description && { description }),
  });
}

/** The results, and the codes of errors, by their status. */
function printResponses(responses: Operation["responses"]): string {
  const results: string[] = [];
  const errors: string[] = [];
  for (const [status, { description = "", content = {} }] of Object.entries(responses)) {
    const codes = Array.from(description.matchAll(/^`\w+`(?=:)/gm), ([code]) => code);
    if (codes.length > 0) errors.push(`${status} ${codes.join(", ")}`);
    else results.push(`${status} ${printContents(content) || description}`);
  }
  return `Returns ${results.join("; ")}.\n\n[Errors](/docs/errors.md): ${errors.join("; ")}.`;
}

const printContents = (contents: Contents): string =>
  Object.entries(contents)
    .map(([type, { schema }]) =>
      type === "application/json" && schema ? printType(schema) : `\`${type}\``,
    )
    .join(" or ");

const printObjects = (schemas: OpenApiDocument["components"]["schemas"]): string =>
  join([
    `# ${OBJECTS}`,
    "What requests and responses consist of. A `?` marks what may be left out.",
    ...Object.entries(schemas).map(([name, schema]) =>
      join([`## ${name}`, schema.description, ...(schema.oneOf ?? [schema]).map(printFields)]),
    ),
  ]);

/** The fields of an object, and of objects within it. */
const printFields = (schema: Schema): string => printTable("Field", listFields(schema, ""));

function listFields({ properties = {}, required = [] }: Schema, prefix: string): string[][] {
  return Object.entries(properties).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const options = field.anyOf ?? [field];
    const inner = options.flatMap((option) => [
      ...listFields(option, `${path}.`),
      ...(option.items ? listFields(option.items, `${path}[].`) : []),
    ]);
    return [printRow(path, printType(field), required.includes(name), field), ...inner];
  });
}

const printRow = (name: string, type: string, isRequired: boolean, schema: Schema): string[] => [
  `\`${name}\`${isRequired ? "" : "?"}`,
  type,
  escape(schema.description ?? ""),
];

const printTable = (heading: string, rows: readonly (readonly string[])[]): string =>
  rows.length === 0
    ? ""
    : [[heading, "Type", "Description"], ["---", "---", "---"], ...rows]
        .map((row) => `| ${row.join(" | ")} |`)
        .join("\n");

/** The type of a value in words, with its bounds. */
function printType(schema: Schema): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split("/").at(-1) ?? "";
    return `[${name}](/${referencePath(OBJECTS)}#${slugify(name)})`;
  }
  if (schema.const !== undefined) return printValue(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(printValue).join(" or ");
  const options = schema.oneOf ?? schema.anyOf;
  if (options !== undefined) return [...new Set(options.map(printType))].join(" or ");
  const kinds = [schema.type ?? "any"].flat();
  return [kinds.map((kind) => printKind(kind, schema)).join(" or "), ...listBounds(schema)].join(
    ", ",
  );
}

function printKind(kind: string, { items, additionalProperties, format }: Schema): string {
  if (kind === "array") return `list of ${printType(items ?? {})}`;
  if (kind === "object" && typeof additionalProperties === "object")
    return `object of ${printType(additionalProperties)}`;
  return kind === "string" && format !== undefined ? format : kind;
}

/** Integers have the bounds of their format where they have none of their own. */
const listBounds = ({ minimum, maximum, maxLength, maxItems }: Schema): string[] => [
  ...(maxLength === undefined ? [] : [`≤ ${maxLength} characters`]),
  ...(maxItems === undefined ? [] : [`≤ ${maxItems} entries`]),
  ...(minimum === undefined || Math.abs(minimum) >= 2 ** 31 ? [] : [`≥ ${minimum}`]),
  ...(maximum === undefined || maximum >= 2 ** 31 - 1 ? [] : [`≤ ${maximum}`]),
];

const printValue = (value: unknown): string => `\`${String(value).replaceAll("|", "\\|")}\``;

/** A text in a cell of a table: on one line, and no HTML. */
const escape = (text: string): string =>
  text
    .replaceAll(/\s+/g, " ")
    .replaceAll("|", "\\|")
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith("`") ? part : part.replaceAll("<", "&lt;")))
    .join("");

const fence = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\``;

/** Blocks of a page, those that are there. */
const join = (blocks: readonly (string | false | undefined)[]): string =>
  blocks.filter((block) => typeof block === "string" && block !== "").join("\n\n");
