/**
 * What an operator decides: by options, in a file, or asked on the terminal. Setup remembers it in
 * `/etc/shorthop/setup.env`, so that the next run needs no options.
 */
import { isIP } from "node:net";

import * as z from "zod";

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

const settingsSchema = z.object({
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
});

export type Settings = z.output<typeof settingsSchema>;
export type Values = Partial<Record<string, string>>;

export const SETTING_NAMES = Object.keys(settingsSchema.shape);

/** In the order in which they are asked. */
const QUESTIONS: Values = {
  DOMAIN: "Domain of the short links",
  EMAIL: "E-mail address of the first user",
  TLS: "TLS: none (a proxy in front has it), files, or certbot",
};

const defaultsFor = ({ DOMAIN }: Values): Values => ({
  STORES: "127.0.0.1",
  ROLE: "stores",
  TLS: "none",
  ...(DOMAIN === undefined ? {} : { EMAIL: `admin@${normalizeHost(DOMAIN)}`, ACCOUNT: DOMAIN }),
});

/** Asks a question on the terminal; an empty answer means the default. */
export type Ask = (text: string, preset: string | undefined) => Promise<string>;

/**
 * Completes settings: what is given, else the answers, else the defaults. Without `ask` nothing is
 * asked. Throws an error with one line per invalid or missing setting.
 */
export async function completeSettings(given: Values, ask?: Ask): Promise<Settings> {
  const values: Values = Object.fromEntries(Object.entries(given).filter(([, value]) => value));
  for (const [name, text = ""] of ask === undefined ? [] : Object.entries(QUESTIONS)) {
    const answer = values[name] ?? (await ask?.(text, defaultsFor(values)[name])) ?? "";
    if (answer !== "") values[name] = answer;
  }
  for (const [name, value] of Object.entries(defaultsFor(values))) values[name] ??= value ?? "";
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

const optionOf = (name: string): string => `--${name.toLowerCase().replace("_", "-")}`;

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
