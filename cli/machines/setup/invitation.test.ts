/** Goal: an invitation gives its content once, to whoever has the token, and to nobody else. */
import { beforeAll, describe, expect, test } from "bun:test";
import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { connect } from "node:tls";

import { Host } from "../host.ts";
import {
  acceptInvitation,
  type Certificate,
  formatToken,
  Invitation,
  makeCertificate,
  parseToken,
  type Token,
  TOKEN_LENGTH,
} from "./invitation.ts";

const HOST = "127.0.0.1";
const VALUES = { DOMAIN: "go.shorthop.dev", NATS_REDIRECTOR: "secret" };

function tokenAt(tokens: readonly Token[], index: number): Token {
  const token = tokens[index];
  if (token === undefined) throw new Error(`There is no token ${index}.`);
  return token;
}

/** A TCP connection on which nothing is said. */
async function connectSilently(port: number, localAddress = HOST): Promise<Socket> {
  const socket = connectTcp({ host: HOST, port, localAddress });
  socket.on("error", () => socket.destroy());
  await once(socket, "connect");
  return socket;
}

describe("an invitation", () => {
  let certificate: Certificate;
  beforeAll(async () => {
    certificate = await makeCertificate(new Host(process.env));
  });

  /** For some hosts; `accept` returns what the one with a token gets, or why it gets nothing. */
  async function invite(hosts: Record<string, string>[], validMs = 60_000, own = certificate) {
    const invitation = new Invitation(own, hosts);
    const port = await invitation.listen(HOST, 0, validMs);
    const accept = (token: Token) => acceptInvitation(HOST, formatToken(token), port).catch(String);
    return { port, accept, tokens: invitation.tokens, ended: invitation.ended };
  }

  /** For one host. */
  async function open(validMs?: number, own?: Certificate) {
    const { tokens, ...opened } = await invite([VALUES], validMs, own);
    return { token: tokenAt(tokens, 0), ...opened };
  }

  test("is accepted once", async () => {
    const { token, accept, ended } = await open();
    expect(formatToken(token)).toHaveLength(TOKEN_LENGTH);
    const both = await Promise.all([accept(token), accept(token)]);
    expect(both.filter((got) => typeof got === "object")).toEqual([VALUES]);
    expect(await ended).toBe(true);
    expect(await accept(token)).toContain("has no open invitation");
  });

  test("gives each of several hosts its own content, and ends with the last", async () => {
    const hosts = [{ ROLE: "processes" }, { ROLE: "redirector" }];
    const { tokens, accept, ended } = await invite(hosts);
    expect(await accept(tokenAt(tokens, 1))).toEqual({ ROLE: "redirector" });
    // Another host cannot use it again, and does not end the invitation.
    for (let i = 0; i < 10; i++)
      expect(await accept(tokenAt(tokens, 1))).toContain("was used, or is over");
    expect(await accept(tokenAt(tokens, 0))).toEqual({ ROLE: "processes" });
    expect(await ended).toBe(true);
  });

  test("sends nothing for another secret, and is still open after many", async () => {
    const { token, accept, ended } = await open();
    const wrong = { ...token, secret: Buffer.alloc(token.secret.length) };
    for (let i = 0; i < 20; i++) expect(await accept(wrong)).toContain("was used, or is over");
    expect(await accept(token)).toEqual(VALUES);
    expect(await ended).toBe(true);
  });

  test("is accepted while another host holds all connections without a word", async () => {
    const { token, port, accept, ended } = await open();
    const silent: Socket[] = [];
    for (let i = 0; i < 16; i++) silent.push(await connectSilently(port));
    expect(await accept(token)).toEqual(VALUES);
    for (const socket of silent) socket.destroy();
    expect(await ended).toBe(true);
  });

  test("a host that has connected keeps its turn when another opens any number", async () => {
    const { token, port, ended } = await open();
    const first = connect({ host: HOST, port, rejectUnauthorized: false });
    await once(first, "secureConnect");
    const silent: Socket[] = [];
    const closed: Promise<unknown>[] = [];
    for (let i = 0; i < 40; i++) {
      const socket = await connectSilently(port, "127.0.0.2");
      silent.push(socket);
      closed.push(once(socket, "close"));
    }
    // So many give way.
    await Promise.all(closed.slice(0, 20));
    first.write(`${token.secret.toString("hex")}\n`);
    const [answer] = await once(first, "data");
    expect(JSON.parse(String(answer))).toEqual(VALUES);
    for (const socket of silent) socket.destroy();
    expect(await ended).toBe(true);
  });

  test("a host with another certificate gets no secret", async () => {
    const real = await open();
    const other = await open(undefined, await makeCertificate(new Host(process.env)));
    expect(await other.accept(real.token)).toContain(
      "is not the host that made this token: nothing was sent to it",
    );
    for (const { token, accept, ended } of [real, other]) {
      expect(await accept(token)).toEqual(VALUES);
      expect(await ended).toBe(true);
    }
  });

  test("is over after its time", async () => {
    const { token, accept, ended } = await open(1);
    expect(await ended).toBe(false);
    expect(await accept(token)).toContain("has no open invitation");
  });

  test("drops a client that sends anything else", async () => {
    const { token, port, accept, ended } = await open();
    const socket = connect({ host: HOST, port, rejectUnauthorized: false });
    socket.write("x".repeat(1_000));
    const received = await new Promise((resolve) => {
      socket.on("data", resolve);
      socket.on("error", () => resolve("closed"));
      socket.on("close", () => resolve("closed"));
    });
    expect(received).toBe("closed");
    await accept(token);
    await ended;
  });
});

test("what is no token is refused before a connection is made", () => {
  for (const text of ["", "x", "-".repeat(TOKEN_LENGTH + 1), "€".repeat(TOKEN_LENGTH)])
    expect(() => parseToken(text)).toThrow("That is no token");
});
