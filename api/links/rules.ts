/** What a link's fields must be, as the client is told when they are not. */
import { aliasProblem } from "../../shared/contracts/alias.ts";
import type { DomainService } from "../domains/service.ts";
import { ApiError } from "../http/errors.ts";
import { hashPassword } from "../http/password.ts";
import { OWN_LINK, parseTarget, type Target, type TargetRules } from "./target-url.ts";

export type TargetDeps = {
  targetRules: TargetRules;
  domains: Pick<DomainService, "isCustom">;
};

/** Reads a destination; throws `invalid_url`. */
export async function requireTarget(
  url: string,
  { targetRules, domains }: TargetDeps,
): Promise<Target> {
  const target = parseTarget(url, targetRules);
  if ("problem" in target) throw new ApiError("invalid_url", target.problem);
  if (await domains.isCustom(target.host)) throw new ApiError("invalid_url", OWN_LINK);
  return target;
}

/** Throws `invalid_alias` when the alias is not allowed. */
export function requireAlias(alias: string): void {
  const problem = aliasProblem(alias);
  if (problem !== undefined) throw new ApiError("invalid_alias", problem);
}

export const aliasTaken = (alias: string): ApiError =>
  new ApiError("alias_taken", `The alias "${alias}" is already in use.`);

/** What is stored for a link's password; null for no password. */
export const hashLinkPassword = async (
  password: string | null | undefined,
): Promise<string | null> =>
  password === null || password === undefined ? null : await hashPassword(password);
