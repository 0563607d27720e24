/** Turns whatever goes wrong into the one error envelope; nothing internal ever gets into it. */
import { Elysia, NotFoundError, ParseError, ValidationError } from "elysia";
import * as z from "zod";

import type { ClientAddress } from "../../shared/client-address.ts";
import type { Log } from "../../shared/log.ts";
import { isClickHouseUnavailable } from "../clickhouse.ts";
import type { AnonymousLimit } from "../limits/anonymous.ts";
import { rateLimited, rateLimitHeaders } from "../limits/windows.ts";
import { isUnavailable } from "../postgres.ts";
import { ApiError, notFound, unavailable } from "./errors.ts";
import { addressOf } from "./request-context.ts";

const INTERNAL_MESSAGE = "Something went wrong on our side.";

type ErrorDeps = {
  log: Log;
  anonymousLimit: AnonymousLimit;
  clientAddress: ClientAddress;
  /** Every route of the finished app. */
  routes: () => readonly { method: string; path: string }[];
};

/** The plugin that answers every failed request, framework-made failures included. */
export const errorPlugin = ({ log, anonymousLimit, clientAddress, routes }: ErrorDeps) =>
  new Elysia({ name: "errors" }).onError({ as: "global" }, ({ error, request, server, set }) => {
    const failure = toApiError(error, request, routes());
    // Whoever is not known to an access rule spends from the limit of the address.
    const anonymous =
      set.headers["x-ratelimit-limit"] === undefined
        ? anonymousLimit.spend(addressOf(request, server, clientAddress))
        : undefined;
    const answer =
      anonymous?.granted === false ? rateLimited(anonymous.window, Date.now()) : failure;
    if (anonymous !== undefined) Object.assign(set.headers, rateLimitHeaders(anonymous.window));
    if (answer.status >= 500) {
      const level = answer.reason === "internal" ? "error" : "warn";
      log[level](
        { error: answer.cause, request_id: set.headers["x-request-id"] },
        "request_failed",
      );
    }
    set.status = answer.status;
    Object.assign(set.headers, answer.headers);
    return answer.envelope;
  });

function toApiError(
  error: unknown,
  request: Request,
  routes: readonly { method: string; path: string }[],
): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof NotFoundError) return noRoute(request, routes);
  if (error instanceof ParseError) {
    return new ApiError("invalid_request", "The body is not valid JSON.", { cause: error });
  }
  // A response that does not fit its own schema is our fault, not the client's.
  if (error instanceof ValidationError) {
    if (error.type !== "response") return invalidRequest(error);
    // The error itself holds the whole answer, which must not get into the log.
    const cause = new Error(`The answer does not fit its schema: ${issueOf(error)?.message}`);
    return new ApiError("internal", INTERNAL_MESSAGE, { cause });
  }
  if (isUnavailable(error) || isClickHouseUnavailable(error)) return unavailable(error);
  return new ApiError("internal", INTERNAL_MESSAGE, { cause: error });
}

function noRoute(request: Request, routes: readonly { method: string; path: string }[]): ApiError {
  const { pathname } = new URL(request.url);
  const methods = routes
    .filter((route) => pathMatches(route.path, pathname))
    .map((route) => route.method);
  if (methods.length === 0) return notFound("resource");
  const allow = [...new Set(methods)].toSorted().join(", ");
  return new ApiError("method_not_allowed", `This resource takes ${allow}.`, {
    headers: { allow },
  });
}

function pathMatches(pattern: string, pathname: string): boolean {
  const expected = pattern.replace(/\/$/, "").split("/");
  const segments = pathname.replace(/\/$/, "").split("/");
  return (
    expected.length === segments.length &&
    expected.every((part, i) => (part.startsWith(":") ? segments[i] !== "" : part === segments[i]))
  );
}

/** Names the first field that is wrong and what is allowed there. */
function invalidRequest(error: ValidationError): ApiError {
  const issue = issueOf(error);
  const unknown = issue?.keys?.[0];
  if (unknown !== undefined) {
    return new ApiError("invalid_request", `Unknown field "${unknown}".`);
  }
  const field = issue?.path?.join(".") ?? "";
  const what = (issue?.message ?? "not valid").replace(/^Invalid (input|option): /, "");
  const where = field === "" ? `the ${error.type}` : `"${field}"`;
  return new ApiError("invalid_request", `Invalid value for ${where}: ${what}.`);
}

const issueOf = (error: ValidationError) => issueSchema.safeParse(error.valueError).data;

/** The part of a zod issue that an answer is made of. */
const issueSchema = z.object({
  message: z.string(),
  path: z.array(z.union([z.string(), z.number()])).optional(),
  keys: z.array(z.string()).optional(),
});
