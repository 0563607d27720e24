/** Goal: no client can stop a redirector, delay other clients, or lock people out of a link. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { connect } from "node:net";

import { call, callOnce, linkSchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { type ExtraProcess, startRedirector } from "../harness/processes.ts";
import { readMetric } from "../harness/scrape.ts";
import { type Stack, startStack } from "../harness/stack.ts";

let stack: Stack;
let redirector: ExtraProcess;

beforeAll(async () => {
  stack = await startStack();
});
afterAll(async () => await stack[Symbol.asyncDispose]());

// A new redirector per test, so that an earlier attack cannot have ended it.
beforeEach(async () => {
  redirector = await startRedirector(stack);
});
afterEach(async () => await redirector.stop());

async function createLink(alias: string, fields: Record<string, unknown> = {}): Promise<string> {
  const { api_url, api_key: key } = stack.info();
  const body = { url: "https://example.com/a?x=1", alias, forward_query: true, ...fields };
  const created = await call(`${api_url}/v1/links`, { key, body });
  expect(created.status).toBe(201);
  return linkSchema.parse(created.body).id;
}

const get = (path: Buffer | string, fields = ""): Buffer =>
  Buffer.concat([
    Buffer.from("GET /"),
    Buffer.from(path),
    Buffer.from(` HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n`),
  ]);

const CLOSE = "Connection: close\r\n";

/** Sends bytes over a new connection; resolves with everything received until it closes. */
function exchange(bytes: Buffer): Promise<string> {
  const { hostname, port } = new URL(redirector.url);
  return new Promise((resolve) => {
    let text = "";
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(bytes));
    socket.on("data", (data: Buffer) => void (text += data.toString("latin1")));
    // A process that ends resets its connections; returns what arrived before.
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(text));
  });
}

const statuses = (text: string): string[] =>
  [...text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status = ""]) => status);

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const countClicks = async (id: string): Promise<number> => {
  const { api_url, api_key: key } = stack.info();
  return linkSchema.parse((await call(`${api_url}/v1/links/${id}`, { key })).body).clicks;
};

describe("a query whose encoding is three times longer", () => {
  test("gets 414, records no click, and does not crash the process when pipelined over four connections", async () => {
    const id = await createLink("grows");
    expect((await call(`${redirector.url}/grows`)).status).toBe(302);
    const long = Buffer.concat([Buffer.from("grows?"), Buffer.alloc(15_000, 0xff)]);
    const attack = (i: number): Buffer =>
      Buffer.concat([get(`missing-${i}`), get(long), get(long), get(long), get(long, CLOSE)]);
    // Repeated, because the crash needed requests served in the same turn of the event loop.
    const responses: string[] = [];
    for (let round = 0; round < 10; round++) {
      const attacks = [1, 2, 3, 4].map((i) => exchange(attack(4 * round + i)));
      responses.push(...(await Promise.all(attacks)));
    }
    expect(redirector.output()).not.toContain("uncaught_exception");
    expect(isRunning(redirector.pid)).toBe(true);
    for (const text of responses) {
      expect(statuses(text)).toEqual(["404", "414", "414", "414", "414"]);
    }
    const { status, headers } = await call(`${redirector.url}/grows?y=2`);
    expect([status, headers.get("location")]).toEqual([302, "https://example.com/a?x=1&y=2"]);
    await eventually(async () => expect(await countClicks(id)).toBe(2), 20_000);
  });
});

describe("a link with a password", () => {
  const FORM = { "content-type": "application/x-www-form-urlencoded" };
  const attempt = (address: string, password: string) =>
    callOnce(`${redirector.url}/secret`, {
      method: "POST",
      body: `password=${password}`,
      headers: { ...FORM, "x-forwarded-for": address },
    });

  test("opens with the right password while a /48 tries wrong ones from all of its networks", async () => {
    await createLink("secret", { password: "correct" });
    let over = false;
    let tries = 0;
    // Sixteen concurrent attempts, each from another network.
    const attack = Array.from({ length: 16 }, async () => {
      while (!over && tries < 5_000) {
        const network = (tries++).toString(16);
        const { status } = await attempt(`2001:db8:1:${network}::1`, "wrong");
        expect([401, 429, 503]).toContain(status);
      }
    });
    // During the attack, and after more wrong attempts than used to lock everybody out.
    for (const count of [40, 130]) {
      await eventually(async () => expect(tries).toBeGreaterThan(count), 60_000);
      for (const address of ["203.0.113.9", "2001:db8:2::1"]) {
        const { status, headers } = await attempt(address, "correct");
        expect([status, headers.get("location")]).toEqual([302, "https://example.com/a?x=1"]);
      }
    }
    over = true;
    await Promise.all(attack);
  });
});

describe("connections of one client", () => {
  test("are limited and counted, without affecting other clients", async () => {
    const capped = await startRedirector(stack, {
      CONNECTIONS_PER_ADDRESS_MAX: "10",
      PROXY_PROTOCOL: "true",
      TRUSTED_PROXIES: "10.0.0.0/8",
    });
    const { hostname, port } = new URL(capped.url);
    /** Opens a connection with a PROXY header that announces the address. */
    const open = (address: string): Promise<{ end: () => void; isOpen: () => boolean }> =>
      new Promise((resolve) => {
        const family = address.includes(":") ? "TCP6 " : "TCP4 ";
        const target = address.includes(":") ? "2001:db8::1" : "192.0.2.1";
        let closed = false;
        const socket = connect({ host: hostname, port: Number(port) }, () => {
          socket.write(`PROXY ${family}${address} ${target} 5000 80\r\n`);
          resolve({ end: () => socket.destroy(), isOpen: () => !closed });
        });
        socket.on("error", () => undefined);
        socket.on("close", () => void (closed = true));
      });
    const openFrom = async (count: number, addressOf: (i: number) => string) =>
      await Promise.all(Array.from({ length: count }, (_, i) => open(addressOf(i))));
    const read = (name: string) =>
      readMetric(capped.metricsUrl, `shorthop_redirector_connections_${name}`);
    const rejected = (reason: string) => read(`rejected_total{reason="${reason}"}`);
    try {
      const network = await openFrom(15, (i) => `2001:db8:0:7::${i}`);
      await eventually(async () => expect(await rejected("network")).toBe(5), 10_000);
      // A client learns of its rejection a moment after the server counts it.
      await eventually(
        async () => expect(network.filter(({ isOpen }) => isOpen())).toHaveLength(10),
        10_000,
      );
      const site = await openFrom(50, (i) => `2001:db8:0:${(i + 8).toString(16)}::1`);
      await eventually(async () => expect(await rejected("site")).toBe(20), 10_000);
      const proxies = await openFrom(20, () => "10.0.0.7");
      await eventually(async () => expect(await read("open")).toBe(60), 10_000);
      expect(proxies.every((connection) => connection.isOpen())).toBe(true);
      for (const { end } of [...network, ...site, ...proxies]) end();
      await eventually(async () => expect(await read("open")).toBe(0), 10_000);
      const reopened = await openFrom(10, (i) => `2001:db8:0:7::${i}`);
      await eventually(async () => expect(await read("open")).toBe(10), 10_000);
      for (const { end } of reopened) end();
    } finally {
      await capped.stop();
    }
  });
});
