/**
 * Validates requests and responses against their schemas in place of the framework, whose `ValidationError`
 * would copy the whole invalid value into its message.
 */
import * as z from "zod";

import { ApiError } from "./errors.ts";

/** The parts of a request that a route can have a schema for. */
const REQUEST_PARTS = ["body", "query", "params", "headers", "cookie"] as const;

type RequestPart = (typeof REQUEST_PARTS)[number];

/** The most characters of a client's field name that a message repeats. */
const NAME_LENGTH_MAX = 100;

type Hooks = Partial<Record<RequestPart | "response", unknown>>;

/**
 * Makes every schema of the routes throw an {@link ApiError} instead of returning issues to the framework. Call it
 * before the first request, which compiles the routes. Throws for a schema that is not zod's, which the
 * framework would validate itself, and for a schema used for two parts, since its errors name the part.
 */
export function installValidation(
  routes: readonly { method: string; path: string; hooks: Hooks }[],
): void {
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
          const { data, error } = schema.safeParse(value, { error: describeIssue });
          if (error !== undefined) throw toError(error);
          return { value: data };
        },
      };
    };
    for (const part of REQUEST_PARTS) {
      replace(part, hooks[part], (error) => invalidRequest(part, error.issues[0]));
    }
    for (const schema of Object.values(hooks.response ?? {})) {
      replace("response", schema, invalidResponse);
    }
  }
}

/** Names the first invalid field and what it must be; repeats a field's name, but never a value. */
function invalidRequest(part: RequestPart, issue: z.core.$ZodIssue | undefined): ApiError {
  const unknown = issue?.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  if (unknown !== undefined) {
    return new ApiError("invalid_request", `Unknown field "${shorten(unknown)}".`);
  }
  const field = shorten(issue?.path.map(String).join(".") ?? "");
  const where = field === "" ? `the ${part}` : `"${field}"`;
  const problem = issue?.message ?? "not valid";
  return new ApiError("invalid_request", `Invalid value for ${where}: ${problem}.`);
}

/** Words an issue so that it can follow "Invalid value for …:"; undefined keeps the schema's or zod's own message. */
function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return `expected ${issue.expected}, received ${nameType(issue.input)}`;
    case "invalid_value":
      return `expected ${issue.values.length === 1 ? "" : "one of "}${z.util.joinValues(issue.values, "|")}`;
    default:
      return undefined;
  }
}

const nameType = (value: unknown): string =>
  typeof value === "number" && !Number.isFinite(value) ? String(value) : z.util.parsedType(value);

/** A response that does not match its schema is our fault. Its values must not get into the log. */
function invalidResponse({ issues: [issue] }: z.ZodError): ApiError {
  const where = issue?.path.map(String).join(".");
  const cause = new Error(`The response does not match its schema: ${where}: ${issue?.message}`);
  return new ApiError("internal", INTERNAL_MESSAGE, { cause });
}

export const INTERNAL_MESSAGE = "Something went wrong on our side.";

const shorten = (name: string): string =>
  name.length <= NAME_LENGTH_MAX ? name : `${name.slice(0, NAME_LENGTH_MAX).toWellFormed()}…`;
