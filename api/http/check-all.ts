/** Checks of one request that do not depend on each other. */
import { ApiError, DETAILS_MAX, type ErrorDetail } from "./errors.ts";

type Results<Checks extends readonly (() => unknown)[]> = {
  [Index in keyof Checks]: Awaited<ReturnType<Checks[Index]>>;
};

/**
 * Runs checks concurrently and returns their results. If some reject the request, throws the first
 * error, with the problems of all of them as details. Any error that is not the client's fault is
 * rethrown unchanged.
 */
export async function checkAll<Checks extends readonly (() => unknown)[]>(
  checks: readonly [...Checks],
): Promise<Results<Checks>> {
  const settled = await Promise.allSettled(checks.map(async (check) => await check()));
  const rejections: ApiError[] = [];
  const results: unknown[] = [];
  for (const each of settled) {
    if (each.status === "fulfilled") results.push(each.value);
    else if (each.reason instanceof ApiError && each.reason.status < 500)
      rejections.push(each.reason);
    else throw each.reason;
  }
  const [first, ...others] = rejections;
  // One result for each check, in their order.
  if (first === undefined) return results as Results<Checks>;
  if (others.length === 0) throw first;
  const details = rejections.flatMap(toDetails).slice(0, DETAILS_MAX);
  throw new ApiError(first.reason, first.message, { param: first.param, details });
}

const toDetails = ({ param, message, details }: ApiError): readonly ErrorDetail[] =>
  details ?? (param === undefined ? [] : [{ param, message }]);
