/**
 * `shorthop setup --invite` and `--join`: the host of the stores gives other hosts the settings and
 * secrets of their roles, each once. The connection is TLS with a certificate that exists only for
 * the invitation. Both ends know it by the token, which an operator carries from one terminal to
 * the other: a secret that the inviting host compares, and the fingerprint of its certificate.
 */
import { createHash, randomBytes, timingSafeEqual, X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, createServer, type Server, type TLSSocket } from "node:tls";

import * as z from "zod";

import type { Host } from "../host.ts";
import { type Secrets, secretsFor } from "./secrets.ts";
import { isLoopback, NONE, providerOf, type Role, type Settings, type Values } from "./settings.ts";

const MINUTE_MS = 60_000;

const INVITATION_PORT = 4280;

/** How long an invitation is valid. */
const VALID_MS = 3_600_000;

/** A host has this time from its connection to its answer. */
const EXCHANGE_MS = 10_000;

/** Connections at once; with one more, another gives way. */
const CONNECTIONS_MAX = 16;

/** A secret in hexadecimal and a newline. */
const REQUEST_BYTES_MAX = 64;

/** Of the settings and secrets of one host. */
const RESPONSE_BYTES_MAX = 16 * 1024;

const content = z.record(
  z.string().regex(/^[A-Z_]{1,40}$/),
  // They become lines of a file.
  z
    .string()
    .max(2_000)
    .regex(/^[^\r\n]*$/),
);
type Content = z.output<typeof content>;

/** Throws when this is not the host of the stores, or when others cannot reach them. */
export function requireInviting({ ROLE, STORES }: Settings): void {
  if (ROLE !== "stores")
    throw new Error(
      "Only the host of the stores invites others: run shorthop setup --invite there.",
    );
  if (isLoopback(STORES))
    throw new Error(
      `Other hosts cannot reach the stores at ${STORES}: also give --stores ADDRESS.`,
    );
}

/** Prints a token for a host of each role, and waits until all have joined. Throws at their end. */
export async function inviteHosts(
  roles: readonly Role[],
  settings: Settings,
  secrets: Secrets,
  host: Host,
): Promise<void> {
  const { DOMAIN, STORES, EMAIL, ACCOUNT } = settings;
  const hosts = roles.map((ROLE) => ({
    DOMAIN,
    STORES,
    EMAIL,
    ACCOUNT,
    ROLE,
    OIDC_ISSUER: NONE,
    ...(ROLE === "processes" ? providerOf(settings) : {}),
    ...secretsFor(ROLE, secrets),
  }));
  const invitation = new Invitation(await makeCertificate(host), hosts);
  await invitation.listen(STORES);
  const lines = invitation.tokens.map((token, i) => `    ${formatToken(token)}  ${roles[i]}`);
  console.log(`  On each other host, with the same packages:

    shorthop setup --join ${STORES}

  It asks for a token. Each is for one host of its role, and valid for ${VALID_MS / MINUTE_MS} minutes:

${lines.join("\n")}
`);
  if (!(await invitation.ended))
    throw new Error("Not all have joined. The tokens are not valid any more.");
  console.log(roles.length === 1 ? "The host has joined." : "All hosts have joined.");
}

/**
 * Takes the invitation of a host; again, when secrets have changed there. Throws when this host has
 * the stores itself, or when the invitation is not open.
 */
export async function joinHost(
  host: string,
  { ROLE: present }: Values,
  readToken: () => Promise<string>,
): Promise<Values> {
  if (present === "stores")
    throw new Error("This host has the stores itself: run shorthop setup --invite on it instead.");
  return await acceptInvitation(host, await readToken());
}

/** An invitation of some hosts, with a token for each: open until all have accepted theirs. */
export class Invitation {
  readonly tokens: Token[];
  /** Whether all have accepted, when they have or when its time is over. */
  readonly ended: Promise<boolean>;
  readonly #end: (isDone: boolean) => void;
  readonly #hosts: readonly Values[];
  readonly #server: Server;
  readonly #accepted = new Set<number>();
  readonly #waiting = new Set<Socket>();
  #joined = 0;

  constructor(certificate: Certificate, hosts: readonly Values[]) {
    this.#hosts = hosts;
    this.tokens = hosts.map(() => tokenFor(certificate.cert));
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.ended = promise.finally(() => this.#server.close());
    this.#end = resolve;
    this.#server = createServer({ ...certificate, minVersion: "TLSv1.3" }, (socket) =>
      this.#exchange(socket),
    );
    this.#server.on("connection", (socket: Socket) => this.#admit(socket));
    // A client that speaks something else.
    this.#server.on("tlsClientError", () => undefined);
  }

  /** Listens until all have accepted, or the time is over; returns the port. */
  async listen(host: string, port = INVITATION_PORT, validMs = VALID_MS): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, host, resolve);
    });
    const timer = setTimeout(() => this.#end(false), validMs);
    void this.ended.finally(() => clearTimeout(timer));
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : port;
  }

  /** A connection has its time, handshake included; when there are too many, one is closed. */
  #admit(socket: Socket): void {
    if (this.#waiting.size >= CONNECTIONS_MAX) findExcess(this.#waiting)?.destroy();
    this.#waiting.add(socket);
    const timer = setTimeout(() => socket.destroy(), EXCHANGE_MS);
    socket.on("close", () => {
      clearTimeout(timer);
      this.#waiting.delete(socket);
    });
  }

  /** Reads the secret, and sends its host's content. */
  #exchange(socket: TLSSocket): void {
    let request = "";
    let isAnswered = false;
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      if (isAnswered && ++this.#joined === this.#hosts.length) this.#end(true);
    });
    socket.on("data", (part: Buffer) => {
      request += part.toString("latin1");
      if (!request.includes("\n") && request.length <= REQUEST_BYTES_MAX) return;
      const sent = request.endsWith("\n") ? Buffer.from(request.trim(), "hex") : Buffer.alloc(0);
      // Wrong ones are not counted: nobody guesses 128 bits, but somebody would use them up.
      const index = this.tokens.findIndex((token) => isSecretOf(token, sent));
      if (index < 0 || this.#accepted.has(index)) {
        socket.destroy();
        return;
      }
      this.#accepted.add(index);
      isAnswered = true;
      // Its answer is on the way, and must arrive.
      this.#waiting.delete(socket);
      socket.end(JSON.stringify(this.#hosts[index]));
    });
  }
}

/** The oldest connection of the address that has the most: one host cannot keep another out. */
function findExcess(waiting: ReadonlySet<Socket>): Socket | undefined {
  const byAddress = Object.values(Object.groupBy(waiting, (one) => one.remoteAddress ?? ""));
  return byAddress.toSorted((a, b) => (b?.length ?? 0) - (a?.length ?? 0))[0]?.[0];
}

/**
 * Takes an invitation: the settings and secrets for this host. Throws when the other end is not the
 * host that made the token, or when the invitation was used or is over.
 */
export function acceptInvitation(
  host: string,
  text: string,
  port = INVITATION_PORT,
): Promise<Content> {
  const token = parseToken(text);
  return new Promise((resolve, reject) => {
    // Its certificate is checked by its fingerprint, before anything is sent.
    const socket = connect({ host, port, rejectUnauthorized: false, minVersion: "TLSv1.3" });
    const fail = (words: string): void => {
      socket.destroy();
      reject(new Error(words));
    };
    let response = "";
    socket.setTimeout(EXCHANGE_MS, () => fail(`${host} does not respond.`));
    socket.on("error", ({ message }) =>
      fail(`${host} has no open invitation at port ${port} (${message}).`),
    );
    socket.on("secureConnect", () => {
      const certificate = socket.getPeerCertificate();
      if (!isPinned(token, certificate.raw))
        return fail(`${host} is not the host that made this token: nothing was sent to it.`);
      socket.write(`${token.secret.toString("hex")}\n`);
    });
    socket.on("data", (part: Buffer) => {
      response += part.toString("utf8");
      if (response.length > RESPONSE_BYTES_MAX) fail(`${host} sends too much.`);
    });
    socket.on("close", () => {
      if (response === "") return fail("The invitation was used, or is over: make another one.");
      try {
        resolve(content.parse(JSON.parse(response)));
      } catch {
        fail(`${host} did not send an invitation.`);
      }
    });
  });
}

export type Certificate = { cert: string; key: string };

/** Makes a certificate of its own, whose key is in no file when this returns. */
export async function makeCertificate(host: Host): Promise<Certificate> {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-invitation-"));
  try {
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc"];
    const name = ["-days", "1", "-subj", "/CN=shorthop-invitation"];
    const files = ["-keyout", join(dir, "key.pem"), "-out", join(dir, "cert.pem")];
    await host.read(["openssl", "req", "-x509", ...key, ...name, ...files]);
    const read = (name: string) => readFileSync(join(dir, name), "utf8");
    return { cert: read("cert.pem"), key: read("key.pem") };
  } finally {
    rmSync(dir, { recursive: true });
  }
}

const SECRET_BYTES = 16;
const FINGERPRINT_BYTES = 32;

/** In base64url: 64 characters, one line of a terminal. */
export const TOKEN_LENGTH = ((SECRET_BYTES + FINGERPRINT_BYTES) * 4) / 3;

export type Token = { secret: Buffer; fingerprint: Buffer };

const fingerprintOf = (der: Buffer): Buffer => createHash("sha256").update(der).digest();

const tokenFor = (certificate: string): Token => ({
  secret: randomBytes(SECRET_BYTES),
  fingerprint: fingerprintOf(new X509Certificate(certificate).raw),
});

export const formatToken = ({ secret, fingerprint }: Token): string =>
  Buffer.concat([secret, fingerprint]).toString("base64url");

/** Parses what an operator has copied. Throws when it is no token. */
export function parseToken(text: string): Token {
  const bytes = Buffer.from(text.trim(), "base64url");
  if (text.trim().length !== TOKEN_LENGTH || bytes.length !== SECRET_BYTES + FINGERPRINT_BYTES)
    throw new Error("That is no token: copy all of what shorthop setup --invite has printed.");
  return { secret: bytes.subarray(0, SECRET_BYTES), fingerprint: bytes.subarray(SECRET_BYTES) };
}

/** Whether a certificate, in DER, is the one that the token names. */
const isPinned = ({ fingerprint }: Token, der: Buffer): boolean =>
  timingSafeEqual(fingerprint, fingerprintOf(der));

const isSecretOf = ({ secret }: Token, sent: Buffer): boolean =>
  sent.length === secret.length && timingSafeEqual(sent, secret);
