/** The configuration of a ClickHouse server on the stores' host. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";

import { type DesiredFile, readIfExists } from "./files.ts";
import { CLICKHOUSE_URLS, type Secrets } from "./secrets.ts";
import { isLoopback, type Settings } from "./settings.ts";
import type { System } from "./system.ts";

const SHARE = "/usr/share/shorthop/clickhouse";
const SERVER = "/etc/clickhouse-server";
const DROP_IN = "/etc/systemd/system/clickhouse-server.service.d/shorthop.conf";
const HASHES = `${SERVER}/shorthop.env`;

const USERS = ["API", "WORKER", "OWNER"];

/** What clicks need: a server here, one elsewhere, or one that is still to be installed. */
export function clickhousePlace(
  system: System,
  secrets: Secrets,
): "here" | "elsewhere" | "missing" {
  if (CLICKHOUSE_URLS.every((name) => secrets[name] !== undefined)) return "elsewhere";
  return existsSync(system.path(SERVER)) ? "here" : "missing";
}

/** The commands of its makers that install a server. */
export const CLICKHOUSE_INSTALLATION = `apt-get install --yes ca-certificates curl gnupg
curl -fsSL https://packages.clickhouse.com/rpm/lts/repodata/repomd.xml.key | gpg --dearmor -o /usr/share/keyrings/clickhouse-keyring.gpg
echo "deb [signed-by=/usr/share/keyrings/clickhouse-keyring.gpg] https://packages.clickhouse.com/deb stable main" > /etc/apt/sources.list.d/clickhouse.list
apt-get update
DEBIAN_FRONTEND=noninteractive apt-get install --yes clickhouse-server
shorthop setup --yes`;

/** The files that a restart of the server is for. */
export const CLICKHOUSE_FILES = [
  `${SERVER}/config.d/shorthop.xml`,
  `${SERVER}/config.d/shorthop-listen.xml`,
  `${SERVER}/users.d/shorthop.xml`,
  HASHES,
  DROP_IN,
];

/** The server's files as they should be; none when there is no server here. */
export function clickhouseFiles(
  settings: Settings,
  secrets: Secrets,
  system: System,
): DesiredFile[] {
  if (clickhousePlace(system, secrets) !== "here") return [];
  const shipped = (name: string): string => readIfExists(system, `${SHARE}/${name}`) ?? "";
  const [config, listen, users, hashes] = CLICKHOUSE_FILES;
  const access = { mode: 0o644 };
  return [
    { path: config ?? "", content: shipped("shorthop.xml"), access },
    { path: listen ?? "", content: listenOn(settings), access },
    { path: users ?? "", content: shipped("users.xml"), access },
    // For systemd; no other user needs it.
    { path: hashes ?? "", content: passwordHashes(secrets), access: { mode: 0o600 } },
    { path: DROP_IN, content: `[Service]\nEnvironmentFile=${HASHES}\n`, access },
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
