/**
 * `shorthop setup --invite`: gives other hosts the settings and secrets of their roles, each once.
 * The connection is TLS with a certificate that exists only for the invitation. Both ends know it
 * by the token, which an operator carries from one terminal to the other.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, createServer, type TLSSocket } from "node:tls";

import * as z from "zod";

import { mustRun, type System } from "./system.ts";
import { createToken, isPinned, isSecretOf, parseToken, type Token } from "./token.ts";

const INVITATION_PORT = 4280;

/** How long an invitation is valid. */
export const VALID_MS = 3_600_000;

/** A host has this time from its connection to its answer. */
const EXCHANGE_MS = 10_000;

/** Connections at once; with one more, another gives way. */
const CONNECTIONS_MAX = 16;

/** A secret in hexadecimal and a newline. */
const REQUEST_BYTES_MAX = 64;

/** Settings and secrets of one host. */
const RESPONSE_BYTES_MAX = 16 * 1024;

const invitation = z.record(
  z.string().regex(/^[A-Z_]{1,40}$/),
  // They become lines of a file.
  z
    .string()
    .max(2_000)
    .regex(/^[^\r\n]*$/),
);
type Invitation = z.output<typeof invitation>;

export type Certificate = { cert: string; key: string };

/** Creates a certificate of its own, whose key is in no file when this returns. */
export async function createCertificate(system: System): Promise<Certificate> {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-invitation-"));
  try {
    await mustRun(system, [
      "openssl",
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-noenc",
      "-days",
      "1",
      "-subj",
      "/CN=shorthop-invitation",
      "-keyout",
      join(dir, "key.pem"),
      "-out",
      join(dir, "cert.pem"),
    ]);
    const read = (name: string) => readFileSync(join(dir, name), "utf8");
    return { cert: read("cert.pem"), key: read("key.pem") };
  } finally {
    rmSync(dir, { recursive: true });
  }
}

type Offer = {
  certificate: Certificate;
  /** What each host gets. */
  hosts: readonly Invitation[];
  host: string;
  port?: number;
  validMs?: number;
};

/** An open invitation, with a token for each host; `ended` is whether all have accepted it. */
export type Open = { tokens: Token[]; port: number; ended: Promise<boolean> };

/** Listens until each host has shown the secret of its token, or the time is over. */
export async function openInvitation(offer: Offer): Promise<Open> {
  const { certificate, hosts, host, port = INVITATION_PORT, validMs = VALID_MS } = offer;
  const tokens = hosts.map(() => createToken(certificate.cert));
  const accepted = new Set<number>();
  const { promise: ended, resolve: end } = Promise.withResolvers<boolean>();
  const waiting = new Set<Socket>();
  let joined = 0;
  const server = createServer({ ...certificate, minVersion: "TLSv1.3" }, (socket) => {
    void exchange(socket, (sent) => {
      // Wrong ones are not counted: nobody guesses 128 bits, but somebody would use them up.
      const index = tokens.findIndex((token) => isSecretOf(token, sent));
      if (index < 0 || accepted.has(index)) return undefined;
      accepted.add(index);
      // Its answer is on the way, and must arrive.
      waiting.delete(socket);
      return JSON.stringify(hosts[index]);
    }).then((isDone) => isDone && ++joined === hosts.length && end(true));
  });
  server.on("connection", (socket: Socket) => admit(socket, waiting));
  // A client that speaks something else.
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const timer = setTimeout(() => end(false), validMs);
  const address = server.address();
  return {
    tokens,
    port: typeof address === "object" && address !== null ? address.port : port,
    ended: ended.finally(() => {
      clearTimeout(timer);
      server.close();
    }),
  };
}

/** Also before its handshake, a connection has its time; when there are too many, one is closed. */
function admit(socket: Socket, waiting: Set<Socket>): void {
  if (waiting.size >= CONNECTIONS_MAX) findExcess(waiting)?.destroy();
  waiting.add(socket);
  const timer = setTimeout(() => socket.destroy(), EXCHANGE_MS);
  socket.on("close", () => {
    clearTimeout(timer);
    waiting.delete(socket);
  });
}

/** The oldest connection of the address that has the most: one host cannot keep another out. */
function findExcess(waiting: ReadonlySet<Socket>): Socket | undefined {
  const byAddress = Object.values(Object.groupBy(waiting, (one) => one.remoteAddress ?? ""));
  return byAddress.toSorted((a, b) => (b?.length ?? 0) - (a?.length ?? 0))[0]?.[0];
}

/** Reads the secret and sends what `answer` returns for it; true when that was sent. */
function exchange(
  socket: TLSSocket,
  answer: (sent: Buffer) => string | undefined,
): Promise<boolean> {
  return new Promise((resolve) => {
    let request = "";
    let isAnswered = false;
    socket.on("error", () => socket.destroy());
    socket.on("close", () => resolve(isAnswered));
    socket.on("data", (part: Buffer) => {
      request += part.toString("latin1");
      if (!request.includes("\n") && request.length <= REQUEST_BYTES_MAX) return;
      const response = request.endsWith("\n")
        ? answer(Buffer.from(request.trim(), "hex"))
        : undefined;
      isAnswered = response !== undefined;
      if (response === undefined) socket.destroy();
      else socket.end(response);
    });
  });
}

/**
 * Takes an invitation: the settings and secrets for this host. Throws when the other end is not the
 * host that made the token, or when the invitation was used or is over.
 */
export function acceptInvitation(
  host: string,
  text: string,
  port = INVITATION_PORT,
): Promise<Invitation> {
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
        resolve(invitation.parse(JSON.parse(response)));
      } catch {
        fail(`${host} did not send an invitation.`);
      }
    });
  });
}
