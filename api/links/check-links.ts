/** Finds out which links could be created, without creating any. */
import type { ApiError } from "../http/errors.ts";
import type { Author } from "../http/principal.ts";
import { type Creation, namesOf, prepareCandidates } from "./create-links.ts";
import type { LinkServiceDeps } from "./deps.ts";
import { conflictError } from "./names.ts";
import { type Failure, isFailure, type LinkResult } from "./results.ts";
import { findConflicts } from "./write-sql.ts";

/** Hashing costs most of a link's creation, and its result would be thrown away. */
const WITHOUT_HASHING = { hashForLink: () => Promise.resolve("") };

/**
 * Returns why each link could not be created, in their order; undefined for those that could.
 * Validates them as {@link createLinks} does, except by the quota of links.
 */
export async function checkLinks(
  deps: LinkServiceDeps,
  owner: Author,
  creations: readonly (Creation | Failure)[],
): Promise<(ApiError | undefined)[]> {
  const results: LinkResult[] = [];
  const withoutHashing = { ...deps, passwords: WITHOUT_HASHING };
  const candidates = await prepareCandidates(withoutHashing, owner, creations, results);
  const errors = creations.map((_, index) => {
    const result = results[index];
    return result !== undefined && isFailure(result) ? result.error : undefined;
  });
  const names = candidates.map((candidate) => namesOf(candidate));
  const conflicts = names.length === 0 ? undefined : await findConflicts(deps.sql, owner, names);
  for (const candidate of candidates)
    errors[candidate.index] = conflictError(namesOf(candidate), conflicts?.get(candidate.link.id));
  return errors;
}
