/** The certificate with which redirectors terminate TLS themselves. */
import { createPrivateKey, X509Certificate } from "node:crypto";

import type { Host } from "../host.ts";
import type { DesiredFile } from "./files.ts";
import type { Settings } from "./settings.ts";
import type { Step } from "./step.ts";

const DIR = "/etc/shorthop/tls";
const CERTIFICATE = `${DIR}/cert.pem`;
const KEY = `${DIR}/key.pem`;
const HOOK = "/usr/share/shorthop/certbot/shorthop-tls";

/** The files of the operator, copied to where the units look for them. The certificate is last. */
export function tlsFiles({ TLS, TLS_CERT, TLS_KEY }: Settings, host: Host): DesiredFile[] {
  if (TLS !== "files" || TLS_CERT === undefined || TLS_KEY === undefined) return [];
  return [
    { path: KEY, content: host.readFile(TLS_KEY) ?? "", access: { mode: 0o600 } },
    { path: CERTIFICATE, content: host.readFile(TLS_CERT) ?? "", access: { mode: 0o644 } },
  ];
}

/** Says in one line what is wrong with the operator's files; undefined when nothing is. */
export function describeTlsProblem(settings: Settings, host: Host): string | undefined {
  const { TLS, TLS_CERT = CERTIFICATE, TLS_KEY = KEY, DOMAIN } = settings;
  if (TLS !== "files") return undefined;
  const [certificate, key] = [TLS_CERT, TLS_KEY].map((path) => host.readFile(path));
  if (certificate === undefined || key === undefined)
    return `There is no ${certificate === undefined ? TLS_CERT : TLS_KEY}: name the files with --tls-cert and --tls-key.`;
  try {
    const parsed = new X509Certificate(certificate);
    if (parsed.checkHost(DOMAIN) === undefined) return `${TLS_CERT} is not for ${DOMAIN}.`;
    if (Date.parse(parsed.validTo) < Date.now()) return `${TLS_CERT} has expired.`;
    if (!parsed.checkPrivateKey(createPrivateKey(key)))
      return `${TLS_KEY} is not the key of ${TLS_CERT}.`;
  } catch {
    return `${TLS_CERT} or ${TLS_KEY} is no certificate or key in PEM.`;
  }
  return undefined;
}

/**
 * A step that has certbot obtain the certificate, and renew it by its own timer. It listens on
 * port 80 meanwhile, which redirectors with TLS leave free.
 */
export const certbotStep = ({ TLS, DOMAIN, EMAIL }: Settings, host: Host): Step => ({
  name: "certificate",
  inspect() {
    if (TLS !== "certbot" || isFor(DOMAIN, host.readFile(CERTIFICATE))) return [];
    const how = ["certonly", "--standalone", "--non-interactive", "--agree-tos"];
    const what = ["--email", EMAIL, "--domain", DOMAIN, "--deploy-hook", HOOK];
    const command = ["certbot", ...how, ...what];
    return [{ title: command.join(" "), apply: async () => void (await host.read(command)) }];
  },
});

const isFor = (domain: string, certificate: string | undefined): boolean => {
  if (certificate === undefined) return false;
  const parsed = new X509Certificate(certificate);
  return parsed.checkHost(domain) !== undefined && Date.parse(parsed.validTo) > Date.now();
};
