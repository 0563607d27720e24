/** Validates the URLs of a request's settings together. */
import { ApiError, DETAILS_MAX } from "../../http/errors.ts";
import { type DestinationDeps, requireDestination } from "../validation.ts";
import type { SettingsBody } from "./model.ts";

/**
 * Concurrent lookups: a link may have more than thirty URLs, and each lookup can take a connection.
 */
const LOOKUPS_MAX = 8;

/** A URL by the name of its field, such as `rules.0.url`. */
type UrlField = readonly [field: string, url: string];

/**
 * Validates the URLs of settings as destinations; that of a preview's image must be https. Throws
 * `invalid_url` for the first invalid one, naming its field, with all invalid ones as details.
 */
export async function requireUrls(body: SettingsBody, deps: DestinationDeps): Promise<void> {
  const fields = urlsOf(body);
  const problems: (ApiError | undefined)[] = [];
  const next = fields.entries();
  // Each worker takes the next field. Collects all errors, so that their order does not depend on
  // the lookups.
  const workers = Array.from({ length: Math.min(LOOKUPS_MAX, fields.length) }, async () => {
    for (const [i, field] of next) problems[i] = await findProblem(field, deps);
  });
  await Promise.all(workers);
  const [first, ...others] = problems.filter((one) => one !== undefined);
  if (first === undefined) return;
  const details = [first, ...others].slice(0, DETAILS_MAX).map(({ param = "", message }) => ({
    param,
    message,
  }));
  throw new ApiError("invalid_url", first.message, { param: first.param, details });
}

function urlsOf({ expired_url, rules, split, preview }: SettingsBody): UrlField[] {
  const fields: (readonly [string, string | null | undefined])[] = [
    ["expired_url", expired_url],
    ...(rules ?? []).map(({ url }, i) => [`rules.${i}.url`, url] as const),
    ...(split?.arms ?? []).map(({ url }, i) => [`split.arms.${i}.url`, url] as const),
    ["preview.image", preview?.image],
  ];
  return fields.flatMap(([field, url]) => (typeof url === "string" ? [[field, url] as const] : []));
}

async function findProblem(
  [field, url]: UrlField,
  deps: DestinationDeps,
): Promise<ApiError | undefined> {
  try {
    const { href } = await requireDestination(url, deps);
    return field === "preview.image" && !href.startsWith("https:")
      ? invalidUrl(field, "The URL must be an https URL.")
      : undefined;
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== "invalid_url") throw error;
    return invalidUrl(field, error.message);
  }
}

const invalidUrl = (field: string, problem: string): ApiError =>
  new ApiError("invalid_url", `Invalid value for "${field}": ${problem}`, { param: field });
