/** What a link's fields must be, as the client is told when they are not. */
import type { DomainService } from "../domains/service.ts";
import { ApiError } from "../http/errors.ts";
import { aliasProblem } from "./alias.ts";
import { OWN_LINK, parseTarget, type Target, type TargetRules } from "./target-url.ts";

/** OWASP's parameters for argon2id (Password Storage Cheat Sheet: 19 MiB, 2 passes). */
const PASSWORD_HASHING = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;

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

/** Argon2id in PHC form; null for no password. */
export const hashPassword = async (password: string | null | undefined): Promise<string | null> =>
  password === null || password === undefined
    ? null
    : await Bun.password.hash(password, PASSWORD_HASHING);
