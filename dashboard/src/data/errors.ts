/** Failures, as people are told of them. */
import { ShorthopError } from "../../../clients/typescript/src/index.ts";

export const isSignedOut = (error: unknown): boolean =>
  error instanceof ShorthopError && error.status === 401;

export const isNotFound = (error: unknown): boolean =>
  error instanceof ShorthopError && error.status === 404;

/** A sentence for a failure; ours where the service said one. */
export function messageOf(error: unknown): string {
  if (error instanceof ShorthopError) return error.message;
  return "The service cannot be reached. Check your connection and try again.";
}
