/** The names that no two links may have: short links, and the external ids of an account. */
import { keyOf } from "../../shared/contracts/short-link.ts";
import type { ApiError } from "../http/errors.ts";
import { isUniqueViolation } from "../postgres.ts";
import type { LinkRow } from "./model.ts";
import { recordAlias } from "./record.ts";
import { aliasTaken, externalIdTaken } from "./validation.ts";
import type { Conflict, RequestedNames } from "./write-sql.ts";

/** Whether a statement failed because a link has the name or the id of another. */
export const isNameTaken = (error: unknown): boolean =>
  UNIQUE_CONSTRAINTS.some((constraint) => isUniqueViolation(error, constraint));

const UNIQUE_CONSTRAINTS = [
  "links_alias_key",
  "links_folded_alias_key",
  "links_external_id_key",
  "links_pkey",
];

/**
 * The names that a link is to have; `alias` is null for one that it has already, or does not
 * choose.
 */
export const requestedNames = (
  { id, domain_id, folded }: Pick<LinkRow, "id" | "domain_id" | "folded">,
  alias: string | null,
  external_id: string | null,
): RequestedNames => ({ id, domain_id, folded, alias, external_id });

/** The error of a link that requests a name of another; undefined if its names are free. */
export function conflictError(
  { alias }: Pick<RequestedNames, "alias">,
  conflict: Pick<Conflict, "alias_taken" | "external_id_taken"> | undefined,
): ApiError | undefined {
  if (alias !== null && conflict?.alias_taken === true) return aliasTaken(alias);
  return conflict?.external_id_taken === true ? externalIdTaken() : undefined;
}

/**
 * Creates a function that gives each name to the first link of a request that requests it. It
 * returns the error of a link that comes later.
 */
export function createNameClaims(): (requested: RequestedNames) => ApiError | undefined {
  const shortLinks = new Set<string>();
  const externalIds = new Set<string>();
  return (requested) => {
    const { alias, folded, domain_id, external_id } = requested;
    const name =
      alias === null
        ? undefined
        : keyOf({ domain: domain_id ?? "", alias: recordAlias({ alias, folded }) });
    const error = conflictError(requested, {
      alias_taken: name !== undefined && shortLinks.has(name),
      external_id_taken: external_id !== null && externalIds.has(external_id),
    });
    if (error !== undefined) return error;
    if (name !== undefined) shortLinks.add(name);
    if (external_id !== null) externalIds.add(external_id);
    return undefined;
  };
}
