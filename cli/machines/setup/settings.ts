/**
 * What an operator decides: by options, in a file, or asked on the terminal. Setup remembers it in
 * `/etc/shorthop/setup.env`, so that the next run needs no options.
 */
import { isIP } from "node:net";

import * as z from "zod";

import { domainOf, oidcVariables } from "../../../api/oidc/settings.ts";
import { email } from "../../../shared/contracts/users.ts";
import { normalizeHost } from "../../../shared/hosts.ts";
import { parseHost } from "../../arguments.ts";

export const SETTINGS_FILE = "/etc/shorthop/setup.env";

/**
 * What a host runs: everything with the stores, the processes only, or redirectors only. The last
 * two find the stores on the host from which they were invited.
 */
export const ROLES = ["stores", "processes", "redirector"] as const;
export type Role = (typeof ROLES)[number];

const domain = z.string().transform((text, context) => {
  try {
    return parseHost(text);
  } catch {
    context.addIssue({ code: "custom", message: "must be a host name such as example.com" });
    return z.NEVER;
  }
});

const path = z.string().max(1_000).regex(/^\//, "must be an absolute path");

/** What systemd reads in a file as it is written there. */
const word = z.string().regex(/^[^\s"'\\]{1,1000}$/, "must have no spaces, quotes and backslashes");

/** An answer: there is no provider, or no claim. */
export const NONE = "none";

/** A text that the API accepts as this variable, or "none". */
const oidcText = (name: keyof typeof oidcVariables) =>
  z.string().superRefine((text, context) => {
    const { error } = oidcVariables[name].safeParse(text);
    if (text === NONE || error === undefined) return;
    for (const { message } of error.issues) context.addIssue({ code: "custom", message });
  });

/** What a provider of sign-ins needs beside its address. */
const PROVIDER_NEEDS = ["OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET", "OIDC_ROLES"] as const;

const settingsSchema = z
  .object({
    /** The host of short links; `api.` and `app.` before it are the API and the dashboard. */
    DOMAIN: domain,
    /** The address of the stores' host in the network of the hosts. */
    STORES: z.string().refine((text) => isIP(text) !== 0, "must be an address such as 10.0.0.11"),
    ROLE: z.enum(ROLES),
    /** Who terminates TLS: a proxy in front, or the redirectors, with files or with certbot's. */
    TLS: z.enum(["none", "files", "certbot"]),
    /** Where the files are; without it something else writes them to `/etc/shorthop/tls`. */
    TLS_CERT: path.optional(),
    TLS_KEY: path.optional(),
    /** Of the first user, and for the certificate authority. */
    EMAIL: email,
    ACCOUNT: z.string().trim().min(1).max(200),
    /** The provider with which members of the first account sign in, its application, and roles. */
    OIDC_ISSUER: oidcText("OIDC_ISSUER"),
    OIDC_CLIENT_ID: word.optional(),
    OIDC_CLIENT_SECRET: word.optional(),
    OIDC_ROLE_CLAIM: word.optional(),
    OIDC_ROLES: oidcText("OIDC_ROLES").optional(),
    /** The owner who signs in with a password nevertheless: the first user. */
    OIDC_BREAK_GLASS: email.optional(),
    /** Setup adds it once there is an account. */
    OIDC_ACCOUNT: oidcText("OIDC_ACCOUNT").optional(),
  })
  .superRefine((settings, context) => {
    for (const name of hasProvider(settings) ? PROVIDER_NEEDS : [])
      if (settings[name] === undefined)
        context.addIssue({ code: "custom", path: [name], message: "is missing" });
  });

export type Settings = z.output<typeof settingsSchema>;
export type Values = Partial<Record<string, string>>;

export const SETTING_NAMES = Object.keys(settingsSchema.shape);

/** In the order in which they are asked. */
const QUESTIONS: Values = {
  DOMAIN: "Domain of the short links",
  EMAIL: "E-mail address of the first user",
  TLS: "TLS: none (a proxy in front has it), files, or certbot",
  OIDC_ISSUER: "Provider of OpenID Connect for the dashboard: its https address, or none",
};

/** With a provider. */
const PROVIDER_QUESTIONS: Values = {
  OIDC_CLIENT_ID: "Client id of the application there",
  OIDC_CLIENT_SECRET: "Its client secret",
  OIDC_ROLE_CLAIM: "Claim that decides on roles, or none: the domain of the address does",
  OIDC_ROLES: "Roles by its values, such as admins=owner,*=viewer",
};

/** Whether members sign in with a provider. */
export const hasProvider = ({ OIDC_ISSUER = NONE }: Values): boolean => OIDC_ISSUER !== NONE;

/** The settings of the provider, for hosts with an API; none for others. */
export const providerOf = (settings: Settings): Values =>
  Object.fromEntries(Object.entries(settings).filter(([name]) => name.startsWith("OIDC_")));

function defaultsFor(values: Values): Values {
  const { DOMAIN } = values;
  const own = DOMAIN === undefined ? undefined : `admin@${normalizeHost(DOMAIN)}`;
  const { EMAIL = own } = values;
  const provider = {
    OIDC_ROLE_CLAIM: NONE,
    OIDC_ROLES: defaultRoles(values),
    OIDC_BREAK_GLASS: EMAIL,
  };
  return {
    STORES: "127.0.0.1",
    ROLE: "stores",
    TLS: "none",
    EMAIL,
    ACCOUNT: DOMAIN,
    OIDC_ISSUER: NONE,
    ...(hasProvider(values) ? provider : {}),
  };
}

/** Colleagues of the first user are members; of a claim only the operator knows the values. */
const defaultRoles = ({ OIDC_ROLE_CLAIM = NONE, EMAIL }: Values): string | undefined =>
  EMAIL === undefined || OIDC_ROLE_CLAIM !== NONE ? undefined : `${domainOf(EMAIL)}=member`;

/** Asks a question on the terminal; an empty answer means the default. */
export type Ask = (text: string, preset: string | undefined) => Promise<string>;

/**
 * Completes settings: what is given, else the answers, else the defaults. Without `ask` nothing is
 * asked. Throws an error with one line per invalid or missing setting.
 */
export async function completeSettings(given: Values, ask?: Ask): Promise<Settings> {
  const values: Values = Object.fromEntries(Object.entries(given).filter(([, value]) => value));
  if (ask !== undefined) {
    await answer(values, QUESTIONS, ask);
    if (hasProvider(values)) await answer(values, PROVIDER_QUESTIONS, ask);
  }
  // Some depend on others.
  for (const [name, value] of Object.entries(defaultsFor(values)))
    if (value !== undefined) values[name] ??= value;
  const { data, error } = settingsSchema.safeParse(values);
  if (data !== undefined) return data;
  const lines = error.issues.map(({ path, message }) => {
    const name = path.join(".");
    return values[name] === undefined
      ? `${optionOf(name)} is missing`
      : `${optionOf(name)} ${message}`;
  });
  throw new Error(lines.join("\n"));
}

/** Asks for values that are not there. */
async function answer(values: Values, questions: Values, ask: Ask): Promise<void> {
  for (const [name, text = ""] of Object.entries(questions)) {
    const answer = values[name] ?? (await ask(text, defaultsFor(values)[name]));
    const value = answer === "" ? defaultsFor(values)[name] : answer;
    if (value !== undefined) values[name] = value;
  }
}

/** Settings of a provider have no option: they are lines of a file, or answers. */
const optionOf = (name: string): string =>
  name.startsWith("OIDC_") ? name : `--${name.toLowerCase().replace("_", "-")}`;

/** The content of {@link SETTINGS_FILE}. */
export const formatValues = (comment: string, values: Values): string =>
  Object.entries(values).reduce(
    (text, [name, value]) => (value === undefined ? text : `${text}${name}=${value}\n`),
    `# ${comment}\n`,
  );

/** The names under which the processes are reached. */
export const hostsOf = ({ DOMAIN, ROLE }: Settings): string[] =>
  ROLE === "redirector" ? [DOMAIN] : [DOMAIN, `api.${DOMAIN}`, `app.${DOMAIN}`];

export const isLoopback = (address: string): boolean =>
  address.startsWith("127.") || address === "::1";

/** An address as it stands in a URL. */
export const inUrl = (address: string): string => (isIP(address) === 6 ? `[${address}]` : address);
