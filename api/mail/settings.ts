/** The server that sends mails, and the origins that they link to, by configuration. */
import { email } from "../../shared/contracts/users.ts";

const SCHEMES = { "smtp:": { secure: false, port: 587 }, "smtps:": { secure: true, port: 465 } };

const PORT_MAX = 65_535;

export type MailServer = {
  host: string;
  port: number;
  /** Whether TLS begins with the connection; else by STARTTLS, if the server offers it. */
  secure: boolean;
  /** Whether nothing is sent without TLS. */
  requireTLS: boolean;
  auth: { user: string; pass: string } | undefined;
};

/** The server, and the address of the sender. */
export type MailSender = { server: MailServer; from: string };

/** Addresses that mails link to. */
export type MailOrigins = {
  /** The origin of the API, without a trailing slash. */
  apiUrl: string;
  /** The URL of the dashboard; undefined if there is none. */
  dashboardUrl: string | undefined;
};

export type MailSettings = MailSender &
  MailOrigins & {
    /** The secret that signs the addresses at which recipients unsubscribe. */
    ownSecret: string;
  };

type Variable = "SMTP_URL" | "SMTP_FROM" | "API_URL" | "DASHBOARD_URL" | "DASHBOARD_SECRET";

/** Returns how mails are sent; undefined if they are not. */
export function readMailSettings(variables: {
  [Name in Variable]?: string | undefined;
}): MailSettings | undefined {
  const { SMTP_URL, SMTP_FROM: from } = variables;
  const { apiUrl, dashboardUrl } = readOrigins(variables);
  const ownSecret = variables.DASHBOARD_SECRET;
  const server = SMTP_URL === undefined ? undefined : parseMailServer(SMTP_URL);
  if (!server || from === undefined || apiUrl === undefined || ownSecret === undefined)
    return undefined;
  return { server, from, apiUrl, dashboardUrl, ownSecret };
}

type Configured = { API_URL?: string | undefined; DASHBOARD_URL?: string | undefined };

/** The configured origins of this installation, without a slash at their ends. */
export const readOrigins = ({
  API_URL,
  DASHBOARD_URL,
}: Configured): { apiUrl: string | undefined; dashboardUrl: string | undefined } => ({
  apiUrl: toOrigin(API_URL),
  dashboardUrl: toOrigin(DASHBOARD_URL),
});

const toOrigin = (url: string | undefined): string | undefined =>
  url === undefined ? undefined : new URL(url).origin;

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/;

/**
 * Reads `smtp://user:password@host:port`, or `smtps:` for TLS from the start; undefined if it is
 * neither. A password is sent without TLS only to this machine.
 */
export function parseMailServer(text: string): MailServer | undefined {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "smtp:" && url.protocol !== "smtps:")) return undefined;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (host === "" || !["", "/"].includes(url.pathname) || url.search !== "") return undefined;
  const { secure, port } = SCHEMES[url.protocol];
  if (Number(url.port) > PORT_MAX) return undefined;
  const credentials = decode(url);
  if (credentials === "invalid") return undefined;
  return {
    host,
    port: url.port === "" ? port : Number(url.port),
    secure,
    requireTLS: credentials !== undefined && !LOOPBACK.test(host),
    auth: credentials,
  };
}

function decode({ username, password }: URL): MailServer["auth"] | "invalid" {
  if (username === "" && password === "") return undefined;
  try {
    return { user: decodeURIComponent(username), pass: decodeURIComponent(password) };
  } catch {
    return "invalid";
  }
}

export const isMailAddress = (text: string): boolean => email.safeParse(text).success;
