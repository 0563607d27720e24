/** Classifies errors and turns them into messages for users. */
import { ShorthopError } from "../../../clients/typescript/src/index.ts";
import { translateService } from "../languages/service.ts";
import { t } from "../languages/translate.ts";

export const isSignedOut = (error: unknown): boolean =>
  error instanceof ShorthopError && error.status === 401;

export const isNotFound = (error: unknown): boolean =>
  error instanceof ShorthopError && error.status === 404;

export const isRateLimited = (error: unknown): boolean =>
  error instanceof ShorthopError && error.code === "rate_limited";

/** Returns the API's message for an error response, or a generic one when there was no response. */
export function getErrorMessage(error: unknown): string {
  if (error instanceof ShorthopError && error.status > 0) return translateService(error.message);
  return t("data.unreachable");
}
