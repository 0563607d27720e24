/** What becomes of work that may be refused. */
import { ApiError } from "../../api/http/errors.ts";

/** The reason of an error of the API; any other error as a text. */
export const reasonOf = (error: unknown): string =>
  error instanceof ApiError ? error.reason : String(error);

/** `done`, or the reason of the error that work fails with. */
export const outcomeOf = (work: Promise<unknown>, done = "done"): Promise<string> =>
  work.then(() => done, reasonOf);
