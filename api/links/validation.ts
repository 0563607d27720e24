/** Validates a link's fields beyond their schemas, with the errors that clients receive. */
import { aliasProblem } from "../../shared/contracts/alias.ts";
import type { DomainService } from "../domains/service.ts";
import { ApiError } from "../http/errors.ts";
import {
  type DestinationRules,
  OWN_LINK,
  type ParsedDestination,
  parseDestination,
} from "./destination-url.ts";

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

/** Throws `invalid_alias` for an alias that is not allowed on a domain, null for the service's. */
export function requireAlias(alias: string, domain: string | null): void {
  const problem = aliasProblem(alias, domain);
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
