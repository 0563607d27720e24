/**
 * The names of links: aliases, which are chosen or generated, and external ids. No two links have
 * the same short link, and no two of an account the same external id.
 */
import { randomInt } from "node:crypto";

import { aliasProblem } from "../../shared/contracts/alias.ts";
import { keyOf } from "../../shared/contracts/short-link.ts";
import { ApiError } from "../http/errors.ts";
import { isUniqueViolation } from "../postgres.ts";
import { recordAlias } from "./record.ts";
import type { Conflict, RequestedNames } from "./sql.ts";

/** Throws `invalid_alias` for an alias that is not allowed on a domain, null for the service's. */
export function requireAlias(alias: string, domain: string | null): void {
  const problem = aliasProblem(alias, domain);
  if (problem !== undefined) throw new ApiError("invalid_alias", problem, { param: "alias" });
}

/** Whether a statement failed because a link has the name or the id of another. */
export const isNameTaken = (error: unknown): boolean =>
  UNIQUE_CONSTRAINTS.some((constraint) => isUniqueViolation(error, constraint));

const UNIQUE_CONSTRAINTS = [
  "links_alias_key",
  "links_folded_alias_key",
  "links_external_id_key",
  "links_pkey",
];

/** The error of a link that requests a name of another; undefined if its names are free. */
export function conflictError(
  { alias, forwards }: RequestedNames,
  conflict: Omit<Conflict, "id" | "id_taken"> | undefined,
): ApiError | undefined {
  if (alias !== null && conflict?.alias_taken === true) return aliasTaken(alias, forwards);
  return conflict?.external_id_taken === true ? externalIdTaken() : undefined;
}

const aliasTaken = (alias: string, forwards: boolean): ApiError =>
  new ApiError(
    "alias_taken",
    `The alias "${alias}" is already in use${forwards ? ", or another account has one beneath it" : ""}.`,
    { param: "alias" },
  );

const externalIdTaken = (): ApiError =>
  new ApiError("external_id_taken", "Another link has this external_id.", { param: "external_id" });

/** Gives each name to the first link of a request that claims it. */
export class NameClaims {
  readonly #shortLinks = new Set<string>();
  readonly #externalIds = new Set<string>();

  /** Returns the error of a link that comes too late; undefined if it has its names. */
  claim(requested: RequestedNames): ApiError | undefined {
    const { alias, folded, domain_id, external_id } = requested;
    const name =
      alias === null
        ? undefined
        : keyOf({ domain: domain_id ?? "", alias: recordAlias({ alias, folded }) });
    const error = conflictError(requested, {
      alias_taken: name !== undefined && this.#shortLinks.has(name),
      external_id_taken: external_id !== null && this.#externalIds.has(external_id),
    });
    if (error !== undefined) return error;
    if (name !== undefined) this.#shortLinks.add(name);
    if (external_id !== null) this.#externalIds.add(external_id);
    return undefined;
  }
}

/**
 * Letters and digits, without look-alikes (0 O 1 l I) and without vowels, so that no words appear.
 */
const ALPHABET = "23456789bcdfghjkmnpqrstvwxyzBCDFGHJKLMNPQRSTVWXYZ";

/** Length of generated aliases before any collision: 49^7 is about 6.8 × 10^11. */
export const GENERATED_LENGTH = 7;

/** Generates an alias of `length` characters from the system's secure random source. */
export const generateAlias = (length: number): string =>
  Array.from({ length }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join("");

/** Collisions of generated aliases after which the next ones get one character longer. */
const COLLISIONS_BEFORE_LONGER = 3;

/** Maximum collisions in a row. */
export const COLLISIONS_MAX = 12;

/** Additional characters where case is ignored: 29^9 is about 1.5 × 10^13. */
const FOLDED_EXTRA_LENGTH = 2;

/** The length of the next alias after this number of collisions; longer where case is ignored. */
export const lengthAfter = (collisions: number, { folded }: { folded: boolean }): number =>
  GENERATED_LENGTH +
  (folded ? FOLDED_EXTRA_LENGTH : 0) +
  Math.floor(collisions / COLLISIONS_BEFORE_LONGER);
