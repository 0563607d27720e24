/**
 * The configuration of the NATS server, and of a ClickHouse server, on the stores' host, from the
 * files of the package; and the certificate with which redirectors terminate TLS themselves.
 */
import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";

import type { Host } from "../host.ts";
import type { DesiredFile } from "./files.ts";
import { CLICKHOUSE_URLS, type Secrets } from "./secrets.ts";
import { inUrl, isLoopback, type Settings } from "./settings.ts";
import type { Step } from "./step.ts";

const NATS_SHARE = "/usr/share/shorthop/nats";
const NATS_DIR = "/etc/shorthop/nats";
const NATS_DROP_IN = "/etc/systemd/system/nats-server.service.d/shorthop.conf";

const DIRECTORY_ACCESS = { mode: 0o750, group: "nats" };
const NATS_ACCESS = { mode: 0o640, group: "nats" };

/** The files that a restart of the server is for. */
export const NATS_FILES = [
  ...["nats", "users", "server", "passwords"].map((name) => `${NATS_DIR}/${name}.conf`),
  NATS_DROP_IN,
];

/** Settings of the server as they should be; in `server.conf` other lines are the operator's. */
export function natsFiles(settings: Settings, secrets: Secrets, host: Host): DesiredFile[] {
  const shipped = (name: string): string => {
    const text = host.readFile(`${NATS_SHARE}/${name}`);
    if (text === undefined)
      throw new Error(`${NATS_SHARE}/${name} is missing: install the package shorthop.`);
    return text;
  };
  const inConfiguration = (name: string, content: string): DesiredFile => ({
    path: `${NATS_DIR}/${name}`,
    content,
    access: NATS_ACCESS,
  });
  const server = host.readFile(`${NATS_DIR}/server.conf`) ?? shipped("server.conf");
  return [
    { path: NATS_DIR, access: DIRECTORY_ACCESS },
    inConfiguration("nats.conf", shipped("nats.conf")),
    inConfiguration("users.conf", shipped("users.conf")),
    inConfiguration("server.conf", configureServer(server, settings)),
    inConfiguration("passwords.conf", setPasswords(shipped("passwords.conf"), secrets)),
    {
      path: NATS_DROP_IN,
      content: shipped("nats-server.service.d/shorthop.conf"),
      access: { mode: 0o644 },
    },
  ];
}

/** Without TLS, because it listens on one private address, or on loopback. */
const configureServer = (text: string, { STORES }: Settings): string =>
  text
    .replace(/^tls \{\n[^}]*\n\}\n/m, "")
    .replace(/^listen: .*$/m, `listen: "${inUrl(STORES)}:4222"`);

const setPasswords = (text: string, secrets: Secrets): string =>
  text.replaceAll(
    /^(\w{1,40})_password: .*$/gm,
    (_, user: string) => `${user}_password: "${secrets[`NATS_${user.toUpperCase()}`]}"`,
  );

const CLICKHOUSE_SHARE = "/usr/share/shorthop/clickhouse";
const SERVER = "/etc/clickhouse-server";
const PATHS = {
  config: `${SERVER}/config.d/shorthop.xml`,
  listen: `${SERVER}/config.d/shorthop-listen.xml`,
  users: `${SERVER}/users.d/shorthop.xml`,
  hashes: `${SERVER}/shorthop.env`,
  dropIn: "/etc/systemd/system/clickhouse-server.service.d/shorthop.conf",
};

const USERS = ["API", "WORKER", "OWNER"];

/** What clicks need: a server here, one elsewhere, or one that is still to be installed. */
export function clickhousePlace(host: Host, secrets: Secrets): "here" | "elsewhere" | "missing" {
  if (CLICKHOUSE_URLS.every((name) => secrets[name] !== undefined)) return "elsewhere";
  return existsSync(host.path(SERVER)) ? "here" : "missing";
}

/** The commands of its makers that install a server. */
export const CLICKHOUSE_INSTALLATION = `apt-get install --yes ca-certificates curl gnupg
curl -fsSL https://packages.clickhouse.com/rpm/lts/repodata/repomd.xml.key | gpg --dearmor -o /usr/share/keyrings/clickhouse-keyring.gpg
echo "deb [signed-by=/usr/share/keyrings/clickhouse-keyring.gpg] https://packages.clickhouse.com/deb stable main" > /etc/apt/sources.list.d/clickhouse.list
apt-get update
DEBIAN_FRONTEND=noninteractive apt-get install --yes clickhouse-server
shorthop setup --yes`;

/** The files that a restart of the server is for. */
export const CLICKHOUSE_FILES = Object.values(PATHS);

/** The server's files as they should be; none when there is no server here. */
export function clickhouseFiles(settings: Settings, secrets: Secrets, host: Host): DesiredFile[] {
  if (clickhousePlace(host, secrets) !== "here") return [];
  const shipped = (name: string): string => host.readFile(`${CLICKHOUSE_SHARE}/${name}`) ?? "";
  const access = { mode: 0o644 };
  return [
    { path: PATHS.config, content: shipped("shorthop.xml"), access },
    { path: PATHS.listen, content: listenOn(settings), access },
    { path: PATHS.users, content: shipped("users.xml"), access },
    // For systemd; no other user needs it.
    { path: PATHS.hashes, content: passwordHashes(secrets), access: { mode: 0o600 } },
    { path: PATHS.dropIn, content: `[Service]\nEnvironmentFile=${PATHS.hashes}\n`, access },
  ];
}

const listenOn = ({ STORES }: Settings): string => {
  const addresses = ["127.0.0.1", ...(isLoopback(STORES) ? [] : [STORES])];
  return `<clickhouse>\n${addresses.map((address) => `  <listen_host>${address}</listen_host>\n`).join("")}</clickhouse>\n`;
};

const passwordHashes = (secrets: Secrets): string =>
  USERS.map((user) => {
    const password = secrets[`CLICKHOUSE_${user}_PASSWORD`] ?? "";
    const hash = createHash("sha256").update(password).digest("hex");
    return `CLICKHOUSE_${user}_PASSWORD_SHA256=${hash}\n`;
  }).join("");

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
