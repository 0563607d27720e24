/** The provider of OpenID Connect that members sign in with, as it is configured. */
import * as z from "zod";

import { email, type Role, ROLES } from "../../shared/contracts/users.ts";
import { envBoolean, envList, envUrl } from "../../shared/env.ts";
import { decodeId, type Uuid } from "../../shared/ids.ts";

/** Which role the members have of whom a claim has a value; `*` is any. */
type RoleRule = { value: string; role: Role };

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

const isSecure = (url: string): boolean => {
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || LOOPBACK.test(hostname);
};

/** Reads `value=role`; the value may have further `=`. */
function parseRule(text: string, context: z.RefinementCtx): RoleRule {
  const at = text.lastIndexOf("=");
  const role = ROLES.find((name) => name === text.slice(at + 1).trim());
  if (at > 0 && role !== undefined) return { value: text.slice(0, at).trim(), role };
  const message = `must be a list such as admins=owner,*=viewer, of the roles ${ROLES.join(", ")}`;
  context.addIssue({ code: "custom", message });
  return z.NEVER;
}

export const oidcVariables = {
  /** Where the provider is; its discovery document is below. Without it there is none. */
  OIDC_ISSUER: envUrl(["https", "http"])
    .refine((url) => !URL.canParse(url) || isSecure(url), "must be https, or on this machine")
    .transform((url) => url.replace(/\/$/, ""))
    .optional(),
  OIDC_CLIENT_ID: z.string().optional(),
  OIDC_CLIENT_SECRET: z.string().optional(),
  /** The name of the provider on the sign-in page. */
  OIDC_NAME: z.string().max(40).default("Single sign-on"),
  OIDC_SCOPES: envList("openid,email,profile,offline_access"),
  /** The account that members join. */
  OIDC_ACCOUNT: z
    .string()
    .transform((id) => decodeId("acct", id) ?? "")
    .refine((id) => id !== "", "must be the id of an account, acct_…")
    .optional(),
  /** The claim that decides on the role; by default the domain of the e-mail address does. */
  OIDC_ROLE_CLAIM: z.string().optional(),
  OIDC_ROLES: envList().pipe(z.array(z.string().transform(parseRule))),
  /** Domains of whose addresses the provider is believed, also if somebody has them here. */
  OIDC_DOMAINS: envList().transform((domains) => domains.map((domain) => domain.toLowerCase())),
  /** The address of the owner who signs in with a password when the provider is out of order. */
  OIDC_BREAK_GLASS: email.transform((address) => address.toLowerCase()).optional(),
  /** Whether nobody else signs in with a password or a passkey. */
  OIDC_ONLY: envBoolean(false),
};

const variables = z.object(oidcVariables);

type Variables = z.output<typeof variables>;

const NEEDS = ["OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET", "OIDC_ACCOUNT"] as const;

/** Reports what a provider needs besides its address. */
export function requireOidcNeeds(
  config: Variables & { DASHBOARD_URL?: string | undefined },
  context: z.RefinementCtx,
): void {
  const report = (name: string, message: string) =>
    context.addIssue({ code: "custom", path: [name], message });
  if (config.OIDC_ONLY && config.OIDC_BREAK_GLASS === undefined)
    report("OIDC_BREAK_GLASS", "must be set with OIDC_ONLY: nobody could sign in without it");
  if (config.OIDC_ISSUER === undefined) {
    if (config.OIDC_ONLY) report("OIDC_ISSUER", "must be set with OIDC_ONLY");
    return;
  }
  for (const name of [...NEEDS, "DASHBOARD_URL"] as const)
    if (config[name] === undefined) report(name, "must be set with OIDC_ISSUER");
  if (config.OIDC_ROLES.length === 0) report("OIDC_ROLES", "must be set with OIDC_ISSUER");
}

export type OidcSettings = {
  issuer: string;
  clientId: string;
  clientSecret: string;
  name: string;
  scopes: string[];
  accountId: Uuid;
  roleClaim: string | undefined;
  roles: readonly RoleRule[];
  trustedDomains: readonly string[];
  breakGlass: string | undefined;
  only: boolean;
};

/** Returns what is configured; undefined without a provider. */
export function readOidcSettings(config: Variables): OidcSettings | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_ACCOUNT: accountId } = config;
  const clientSecret = config.OIDC_CLIENT_SECRET;
  if (!issuer || clientId === undefined || clientSecret === undefined || accountId === undefined)
    return undefined;
  return {
    issuer,
    clientId,
    clientSecret,
    accountId,
    name: config.OIDC_NAME,
    scopes: config.OIDC_SCOPES,
    roleClaim: config.OIDC_ROLE_CLAIM,
    roles: config.OIDC_ROLES,
    trustedDomains: config.OIDC_DOMAINS,
    breakGlass: config.OIDC_BREAK_GLASS,
    only: config.OIDC_ONLY,
  };
}

/** What Entra ID writes where the domain of the address is its customer's; it says nothing else. */
const DOMAIN_VERIFIED: ReadonlySet<unknown> = new Set([true, "true", 1, "1"]);

/** The claims of a user with a verified address, of which the names of some are configured. */
export const claimsSchema = z
  .looseObject({
    email: email.transform((address) => address.toLowerCase()),
    email_verified: z.literal([true, "true"]).optional(),
  })
  .refine(
    ({ email_verified, xms_edov }) => email_verified !== undefined || DOMAIN_VERIFIED.has(xms_edov),
  );

export type Claims = z.output<typeof claimsSchema>;

export const domainOf = (address: string): string => address.slice(address.lastIndexOf("@") + 1);

/** The highest role that somebody has by their claims; undefined for none. */
export function roleOf({ roleClaim, roles }: OidcSettings, claims: Claims): Role | undefined {
  const values: readonly unknown[] =
    roleClaim === undefined ? [domainOf(claims.email)] : [claims[roleClaim]].flat();
  return ROLES.find((role) =>
    roles.some((rule) => rule.role === role && (rule.value === "*" || values.includes(rule.value))),
  );
}
