/** The configuration of the NATS server on the stores' host, from the files of the package. */
import { type DesiredFile, readIfExists } from "./files.ts";
import type { Secrets } from "./secrets.ts";
import { inUrl, type Settings } from "./settings.ts";
import type { System } from "./system.ts";

const SHARE = "/usr/share/shorthop/nats";
const DIR = "/etc/shorthop/nats";
export const NATS_DROP_IN = "/etc/systemd/system/nats-server.service.d/shorthop.conf";

const DIRECTORY_ACCESS = { mode: 0o750, group: "nats" };
const ACCESS = { mode: 0o640, group: "nats" };

/** The files that a restart of the server is for. */
export const NATS_FILES = ["nats", "users", "server", "passwords"].map(
  (name) => `${DIR}/${name}.conf`,
);

/** Settings of the server as they should be; in `server.conf` other lines are the operator's. */
export function natsFiles(settings: Settings, secrets: Secrets, system: System): DesiredFile[] {
  const shipped = (name: string): string => {
    const text = readIfExists(system, `${SHARE}/${name}`);
    if (text === undefined)
      throw new Error(`${SHARE}/${name} is missing: install the package shorthop.`);
    return text;
  };
  const inConfiguration = (name: string, content: string): DesiredFile => ({
    path: `${DIR}/${name}`,
    content,
    access: ACCESS,
  });
  const server = readIfExists(system, `${DIR}/server.conf`) ?? shipped("server.conf");
  return [
    { path: DIR, access: DIRECTORY_ACCESS },
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
