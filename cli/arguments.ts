/** Parsers of command-line arguments; they throw errors that Commander shows to the operator. */
import { InvalidArgumentError } from "commander";
import type * as z from "zod";

import { type AccountLimits, accountLimits } from "../api/accounts/service.ts";
import { QUOTAS } from "../api/limits/quotas.ts";
import { type Scope, SCOPES } from "../shared/contracts/key-schemas.ts";
import { normalizeHost } from "../shared/hosts.ts";
import { decodeId, type IdKind, type Uuid } from "../shared/ids.ts";

export function parseName(text: string): string {
  if (text.trim() === "") throw new InvalidArgumentError("It must not be empty.");
  return text.trim();
}

export function parseId(kind: IdKind): (text: string) => Uuid {
  return (text) => {
    const uuid = decodeId(kind, text);
    if (uuid === undefined)
      throw new InvalidArgumentError(`It is not an id of the form ${kind}_….`);
    return uuid;
  };
}

/** Creates a parser from a schema, for values that the API accepts as well. */
export const parseBySchema =
  <Schema extends z.ZodType>(schema: Schema) =>
  (text: string): z.output<Schema> => {
    const parsed = schema.safeParse(text);
    if (!parsed.success) throw new InvalidArgumentError(`It ${parsed.error.issues[0]?.message}.`);
    return parsed.data;
  };

/** Parses a whole number from 0 up. */
export function parseCount(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("It must be a whole number.");
  return Number(text);
}

/** Parses a host name, an internationalized one in its ASCII form, or an address. */
export function parseHost(text: string): string {
  const url = URL.parse(`http://${text.trim()}/`);
  const isHost = url !== null && url.pathname === "/" && url.port === "" && url.username === "";
  const host = isHost && url.search === "" && url.hash === "" ? normalizeHost(url.host) : "";
  if (host === "" || host.length > HOST_LENGTH_MAX)
    throw new InvalidArgumentError("It must be a host such as example.com.");
  return host;
}

/** RFC 1035 §2.3.4: 255 octets on the wire are 253 characters. */
const HOST_LENGTH_MAX = 253;

export function parseScopes(text: string): Scope[] {
  const names = text.split(",").map((name) => name.trim());
  return [...new Set(names)].map((name) => {
    const scope = SCOPES.find((known) => known === name);
    if (scope === undefined) throw new InvalidArgumentError(`"${name}" is not a scope.`);
    return scope;
  });
}

export function parseInstant(text: string): Date {
  const instant = new Date(text);
  if (Number.isNaN(instant.getTime()))
    throw new InvalidArgumentError("It must be an instant such as 2027-01-31T12:00:00Z.");
  return instant;
}

export function parseLimits(text: string): AccountLimits {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new InvalidArgumentError(`It is not JSON. ${LIMITS_EXAMPLE}`);
  }
  const { data, error } = accountLimits.safeParse(json);
  const [issue] = error?.issues ?? [];
  if (issue === undefined && data !== undefined) return data;
  const where = issue?.path.map(String).join(".") ?? "";
  throw new InvalidArgumentError(
    `${where === "" ? "" : `${where}: `}${issue?.message}. ${LIMITS_EXAMPLE}`,
  );
}

const LIMITS_EXAMPLE =
  `It must be JSON such as {"minute":600,"day":50000,"burst":60,"endpoints":{"POST /v1/links":500},` +
  `"quotas":{"domains":50}}. Endpoints: ${Object.keys(accountLimits.shape.endpoints.unwrap().shape).join(", ")}. ` +
  `Quotas: ${QUOTAS.join(", ")}.`;
