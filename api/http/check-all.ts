/** Checks of one request that do not depend on each other. */
import { ApiError, DETAILS_MAX, type ErrorDetail } from "./errors.ts";

type Results<Checks extends readonly (() => unknown)[]> = {
  [Index in keyof Checks]: Awaited<ReturnType<Checks[Index]>>;
};

/**
 * Runs checks at once and returns what they return. When some refuse the request, throws the error of the first of these,
 * with the problems of all as its details; a failure that is not the client's is thrown as it is.
 */
export async function checkAll<Checks extends readonly (() => unknown)[]>(
  checks: readonly [...Checks],
): Promise<Results<Checks>> {
  const settled = await Promise.allSettled(checks.map(async (check) => await check()));
  const refusals: ApiError[] = [];
  const results: unknown[] = [];
  for (const each of settled) {
    if (each.status === "fulfilled") results.push(each.value);
    else if (each.reason instanceof ApiError && each.reason.status < 500)
      refusals.push(each.reason);
    else throw each.reason;
  }
  const [first, ...others] = refusals;
  // One result for each check, in their order.
  if (first === undefined) return results as Results<Checks>;
  if (others.length === 0) throw first;
  const details = refusals.flatMap(toDetails).slice(0, DETAILS_MAX);
  throw new ApiError(first.reason, first.message, { param: first.param, details });
}

const toDetails = ({ param, message, details }: ApiError): readonly ErrorDetail[] =>
  details ?? (param === undefined ? [] : [{ param, message }]);
