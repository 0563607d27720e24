/** Validates a link's fields beyond their schemas, with the errors that clients receive. */
import { aliasProblem } from "../../shared/contracts/alias.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { DomainService } from "../domains/service.ts";
import { ApiError } from "../http/errors.ts";
import type { Writer } from "../http/principal.ts";
import type { PasswordHashing } from "../passwords/hashing.ts";
import {
  type DestinationRules,
  OWN_LINK,
  type ParsedDestination,
  parseDestination,
} from "./destination-url.ts";
import { type Failure, isFailure } from "./results.ts";

export type DestinationDeps = {
  destinationRules: DestinationRules;
  domains: Pick<DomainService, "isCustom">;
};

/** Parses a destination; throws `invalid_url`. */
export async function requireDestination(
  url: string,
  { destinationRules, domains }: DestinationDeps,
): Promise<ParsedDestination> {
  const destination = parseDestination(url, destinationRules);
  if ("problem" in destination)
    throw new ApiError("invalid_url", destination.problem, { param: "url" });
  if (await domains.isCustom(destination.host))
    throw new ApiError("invalid_url", OWN_LINK, { param: "url" });
  return destination;
}

/** Throws `invalid_alias` when the alias is not allowed. */
export function requireAlias(alias: string): void {
  const problem = aliasProblem(alias);
  if (problem !== undefined) throw new ApiError("invalid_alias", problem, { param: "alias" });
}

export const aliasTaken = (alias: string): ApiError =>
  new ApiError("alias_taken", `The alias "${alias}" is already in use.`, { param: "alias" });

export const externalIdTaken = (): ApiError =>
  new ApiError("external_id_taken", "Another link has this external_id.", { param: "external_id" });

export const linkTakenDown = (): ApiError =>
  new ApiError(
    "link_taken_down",
    "An operator has taken the link down. It can be neither deleted nor renamed.",
  );

/** Takes the passwords that a request sets from the account's budget. Throws `rate_limited` when nothing is left of it. */
export function chargePasswords(
  { chargeForLinks }: Pick<PasswordHashing, "chargeForLinks">,
  owner: Writer,
  rows: readonly ({ body: { password?: string | null | undefined } } | Failure)[],
): void {
  const set = rows.filter((row) => !isFailure(row) && typeof row.body.password === "string");
  chargeForLinks(owner, set.length);
}

/** Hashes a link's password; null for no password. Throws `unavailable` when the hashing queue is full. */
export const hashLinkPassword = async (
  { hashForLink }: Pick<PasswordHashing, "hashForLink">,
  accountId: Uuid,
  password: string | null | undefined,
): Promise<string | null> =>
  password === null || password === undefined ? null : await hashForLink(accountId, password);
