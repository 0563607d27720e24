/**
 * Validates requests and responses against their schemas in place of the framework, whose
 * `ValidationError` would copy the whole invalid value into its message.
 */
import * as z from "zod";

import { invalidValue } from "../../shared/contracts/errors.ts";
import { ApiError, DETAILS_MAX, type ErrorDetail, shorten } from "./errors.ts";
import { omitNulls, unwrap } from "./null-fields.ts";

/** The parts of a request that a route can have a schema for. */
const REQUEST_PARTS = ["body", "query", "params", "headers", "cookie"] as const;

type RequestPart = (typeof REQUEST_PARTS)[number];

/** A route of the finished app, with its schemas. */
export type ValidatedRoute = {
  method: string;
  path: string;
  hooks: Partial<Record<RequestPart | "response", unknown>>;
};

/**
 * Makes every schema of the routes throw an {@link ApiError} instead of returning issues to the
 * framework. Must be called before the first request, which compiles the routes. Throws for a
 * schema that is not zod's, because the framework would validate it itself. Throws for a schema
 * used for two parts, because its errors name the part.
 */
export function installValidation(routes: readonly ValidatedRoute[]): void {
  const partOf = new Map<z.ZodType, RequestPart | "response">();
  for (const { method, path, hooks } of routes) {
    const replace = (
      part: RequestPart | "response",
      schema: unknown,
      toError: (error: z.ZodError) => ApiError,
    ) => {
      if (schema === undefined) return;
      if (!(schema instanceof z.ZodType)) {
        throw new Error(`${method} ${path} has a schema that is not zod's.`);
      }
      if ((partOf.get(schema) ?? part) !== part) {
        throw new Error(`${method} ${path} has one schema for two parts: ${part}.`);
      }
      partOf.set(schema, part);
      // The framework calls a schema only through this interface (https://standardschema.dev).
      schema["~standard"] = {
        ...schema["~standard"],
        validate(value) {
          const read = part === "body" ? omitNulls(schema, value, method === "PATCH") : value;
          const { data, error } = schema.safeParse(read, { error: describeIssue });
          if (error !== undefined) throw toError(error);
          return { value: data };
        },
      };
    };
    for (const part of REQUEST_PARTS) {
      const schema = hooks[part];
      replace(part, schema, (error) => invalidRequest(part, error.issues, schema));
    }
    for (const schema of Object.values(hooks.response ?? {})) {
      replace("response", schema, invalidResponse);
    }
  }
}

/**
 * Validates a single value of a body, such as one row of a list, as bodies are: without the nulls
 * that {@link omitNulls} leaves out. Throws `invalid_request`.
 */
export function validateValue<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  isChange = false,
): z.output<Schema> {
  const read = omitNulls(schema, value, isChange);
  const { data, error } = schema.safeParse(read, { error: describeIssue });
  if (error !== undefined) throw invalidRequest("body", error.issues, schema);
  return data;
}

/**
 * Names every invalid field and its valid values, and of an unknown field those that are known;
 * repeats a field's name, but never a value.
 */
function invalidRequest(
  part: RequestPart,
  issues: readonly z.core.$ZodIssue[],
  schema: unknown,
): ApiError {
  const details = issues
    .slice(0, DETAILS_MAX)
    .flatMap((issue) => toDetails(part, issue, schema))
    .slice(0, DETAILS_MAX);
  const [first] = details;
  const message = first?.message ?? `Invalid value for the ${part}: not valid.`;
  return new ApiError("invalid_request", message, { param: first?.param || undefined, details });
}

/** The fields of an object within a schema; none where the value decides which these are. */
function fieldsAt(schema: unknown, path: readonly PropertyKey[]): string[] {
  const { inner } = unwrap(schema);
  const [name, ...rest] = path;
  if (inner instanceof z.ZodArray && name !== undefined) return fieldsAt(inner.element, rest);
  if (!(inner instanceof z.ZodObject)) return [];
  return name === undefined ? Object.keys(inner.shape) : fieldsAt(inner.shape[String(name)], rest);
}

function toDetails(part: RequestPart, issue: z.core.$ZodIssue, schema: unknown): ErrorDetail[] {
  const path = issue.path.map(String);
  if (issue.code === "unrecognized_keys") {
    const known = fieldsAt(schema, issue.path).toSorted().join(", ");
    return issue.keys.slice(0, DETAILS_MAX).map((key, i) => {
      const param = shorten([...path, key].join("."));
      // Once for all of them.
      const rest = i > 0 || known === "" ? "" : `; known here are ${known}`;
      return { param, message: `Unknown field "${param}"${rest}.` };
    });
  }
  const param = shorten(path.join("."));
  if (issue.message === REQUIRED)
    return [{ param, message: `${param === "" ? `The ${part}` : param} ${REQUIRED}.` }];
  const message =
    param === ""
      ? `Invalid value for the ${part}: ${issue.message}.`
      : invalidValue(param, issue.message);
  return [{ param, message }];
}

const REQUIRED = "is required";

/** The names of types in messages; other types have zod's names. */
const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
};

/**
 * Describes an issue so that it can follow "Invalid value for …:"; undefined keeps the schema's or
 * zod's own message.
 */
function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return REQUIRED;
      return `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}`;
    case "invalid_value": {
      // An omitted parameter that allows a list of values reports no type of its own.
      if (issue.input === undefined) return REQUIRED;
      const values = issue.values.map(String);
      return `must be ${values.length === 1 ? "" : "one of "}${values.join(", ")}`;
    }
    case "too_small":
      return describeMinimum(issue.origin, Number(issue.minimum));
    case "too_big":
      return describeMaximum(issue.origin, Number(issue.maximum));
    case "invalid_format":
      return issue.format === "datetime"
        ? "must be a date and time with an offset, such as 2030-01-01T00:00:00Z"
        : undefined;
    default:
      return undefined;
  }
}

function describeMinimum(origin: string, size: number): string {
  if (origin === "string")
    return size === 1 ? "must not be empty" : `must have at least ${size} characters`;
  if (origin !== "array") return `must be at least ${size}`;
  return size === 1 ? "must have at least 1 entry" : `must have at least ${size} entries`;
}

function describeMaximum(origin: string, size: number): string {
  if (origin === "string") return `must have at most ${size} characters`;
  if (origin !== "array") return `must be at most ${size}`;
  return size === 1 ? "must have at most 1 entry" : `must have at most ${size} entries`;
}

/** A response that does not match its schema is our fault. Its values must not reach the log. */
function invalidResponse({ issues: [issue] }: z.ZodError): ApiError {
  const where = issue?.path.map(String).join(".");
  const cause = new Error(`The response does not match its schema: ${where}: ${issue?.message}`);
  return new ApiError("internal", INTERNAL_MESSAGE, { cause });
}

export const INTERNAL_MESSAGE = "Something went wrong on our side.";
