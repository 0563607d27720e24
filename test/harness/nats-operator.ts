/**
 * A NATS server in operator mode, as managed services run it: users log in with credentials files,
 * and only over TLS with a certificate of a private authority.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { connect, nkeys } from "nats";

import { findFreePort } from "../../deploy/local/ports.ts";
import { endWithParent } from "../../deploy/local/supervisor.ts";
import { natsLogin } from "../../shared/nats.ts";
import { createCertificates } from "./certificates.ts";
import { eventually } from "./eventually.ts";
import { ownNatsServer } from "./nats.ts";

const START_TIMEOUT_MS = 20_000;

/** A key pair of the library `nkeys.js`, which `nats` exports without types. */
type KeyPair = {
  getPublicKey(): string;
  getSeed(): Uint8Array;
  sign(data: Uint8Array): Uint8Array;
};
type Keys = Record<"createOperator" | "createAccount" | "createUser", () => KeyPair>;

const { createOperator, createAccount, createUser }: Keys = nkeys;

const UNLIMITED = Object.fromEntries(
  [
    "subs",
    "data",
    "payload",
    "imports",
    "exports",
    "conn",
    "leaf",
    "mem_storage",
    "disk_storage",
    "streams",
    "consumer",
  ].map((name) => [name, -1]),
);

export type OperatorNats = {
  url: string;
  ca: string;
  /** Writes the credentials file of a user with this name; returns its path. */
  createUser(name: string): string;
  [Symbol.asyncDispose](): Promise<void>;
};

export async function startOperatorNats(): Promise<OperatorNats> {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-nats-"));
  const { ca, cert, key } = createCertificates(dir);
  const [operator, system, account] = [createOperator(), createAccount(), createAccount()];
  const accountJwt = (own: KeyPair, name: string) =>
    signJwt(operator, own, name, { type: "account", limits: { ...UNLIMITED, wildcards: true } });
  const port = findFreePort();
  const config = join(dir, "server.conf");
  writeFileSync(
    config,
    `listen: "127.0.0.1:${port}"
operator: "${signJwt(operator, operator, "test", { type: "operator" })}"
system_account: ${system.getPublicKey()}
resolver: MEMORY
resolver_preload: {
  ${system.getPublicKey()}: "${signJwt(operator, system, "SYS", { type: "account" })}"
  ${account.getPublicKey()}: "${accountJwt(account, "shorthop")}"
}
jetstream { store_dir: "${join(dir, "store")}" }
tls { cert_file: "${cert}", key_file: "${key}" }
`,
  );
  const { path } = await ownNatsServer();
  const server = Bun.spawn(endWithParent([path, "-c", config]), {
    stdio: ["ignore", "ignore", "ignore"],
  });
  const url = `tls://127.0.0.1:${port}`;
  const users = join(dir, "users");
  mkdirSync(users);

  function writeCredentials(name: string): string {
    const user = createUser();
    const jwt = signJwt(account, user, name, { type: "user", subs: -1, data: -1, payload: -1 });
    const file = join(users, `${name}.creds`);
    const seed = new TextDecoder().decode(user.getSeed());
    writeFileSync(file, part("NATS USER JWT", jwt) + part("USER NKEY SEED", seed), { mode: 0o600 });
    return file;
  }

  const first = { NATS_CREDS: writeCredentials("first"), NATS_CA_FILE: ca };
  await eventually(
    async () => await (await connect({ ...natsLogin(url, first), reconnect: false })).close(),
    START_TIMEOUT_MS,
  );
  return {
    url,
    ca,
    createUser: writeCredentials,
    async [Symbol.asyncDispose]() {
      server.kill("SIGTERM");
      await server.exited;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** A part of a credentials file. */
const part = (kind: string, value: string): string =>
  `-----BEGIN ${kind}-----\n${value}\n------END ${kind}------\n\n`;

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A JWT as nats-server reads it: https://docs.nats.io (JWTs and Privacy). */
function signJwt(
  issuer: KeyPair,
  subject: KeyPair,
  name: string,
  nats: Record<string, unknown>,
): string {
  const claims = {
    jti: crypto.randomUUID(),
    iat: Math.floor(Date.now() / 1_000),
    iss: issuer.getPublicKey(),
    name,
    sub: subject.getPublicKey(),
    nats: { ...nats, version: 2 },
  };
  const signed = `${encode({ typ: "JWT", alg: "ed25519-nkey" })}.${encode(claims)}`;
  const signature = issuer.sign(new TextEncoder().encode(signed));
  return `${signed}.${Buffer.from(signature).toString("base64url")}`;
}
