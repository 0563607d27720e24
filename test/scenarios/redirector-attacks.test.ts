/** Goal: no client can stop a redirector, delay other clients, or lock people out of a link. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { connect } from "node:net";

import { call, callOnce, linkSchema } from "../harness/api.ts";
import { eventually, smallest } from "../harness/eventually.ts";
import { type ExtraProcess, startRedirector } from "../harness/processes.ts";
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

describe("a query of thousands of names", () => {
  test("delays no other client, even if thirty-two of them arrive together", async () => {
    await createLink("names");
    expect((await call(`${redirector.url}/names`)).status).toBe(302);
    const names = Array.from({ length: 4_000 }, (_, i) => i.toString(36)).join("&");
    const request = get(`names?${names}`, CLOSE);
    expect(request.length).toBeGreaterThan(14_000);
    const measure = async () => {
      let done = false;
      const attack = Promise.all(Array.from({ length: 32 }, () => exchange(request))).finally(
        () => (done = true),
      );
      let longestMs = 0;
      while (!done) {
        const before = performance.now();
        expect((await call(`${redirector.url}/names`)).status).toBe(302);
        longestMs = Math.max(longestMs, performance.now() - before);
      }
      for (const text of await attack) expect(statuses(text)).toEqual(["414"]);
      return longestMs;
    };
    // The fixed defect took two seconds.
    expect(await smallest(measure, 1_000)).toBeLessThan(1_000);
  });
});

/**
 * As many rules and conditions as a link may have, which all look at one parameter and lead nowhere
 * else.
 */
const RULES = Array.from({ length: 20 }, (_, rule) => ({
  url: `https://example.com/${rule}`,
  conditions: Array.from({ length: 10 }, (_, i) => ({
    type: "query",
    name: "a",
    in: [`${rule}-${i}`],
    ...(i < 9 ? { not: true } : {}),
  })),
}));

describe("a query of thousands of parameters for a link of two hundred conditions", () => {
  test("delays no other client, even if 64 of them arrive on each of twenty connections", async () => {
    await createLink("decides", { forward_query: false, rules: RULES });
    await createLink("bystander");
    for (const alias of ["decides", "bystander"])
      expect((await call(`${redirector.url}/${alias}`)).status).toBe(302);
    const path = `decides?${"a&".repeat(7_900)}`;
    const requests = Buffer.concat([
      ...Array.from({ length: 63 }, () => get(path)),
      get(path, CLOSE),
    ]);
    const measure = async () => {
      let done = false;
      const attack = Promise.all(Array.from({ length: 20 }, () => exchange(requests))).finally(
        () => (done = true),
      );
      const times: number[] = [];
      while (!done) {
        const before = performance.now();
        expect((await call(`${redirector.url}/bystander`)).status).toBe(302);
        times.push(performance.now() - before);
      }
      for (const text of await attack) expect(statuses(text)).toEqual(Array(64).fill("302"));
      const longestMs = Math.round(Math.max(...times));
      console.log(`${times.length} redirects beside the attack, the slowest in ${longestMs} ms`);
      return longestMs;
    };
    // The fixed defect took a minute.
    expect(await smallest(measure, 1_000)).toBeLessThan(1_000);
  });

  test("is decided by its first 256, as it is explained", async () => {
    const id = await createLink("many", {
      forward_query: false,
      rules: [
        { url: "https://example.com/last", conditions: [{ type: "query", name: "last" }] },
        { url: "https://example.com/first", conditions: [{ type: "query", name: "a" }] },
      ],
    });
    const { api_url, api_key: key } = stack.info();
    for (const [count, destination] of [
      [255, "https://example.com/last"],
      [256, "https://example.com/first"],
    ] as const) {
      const query = `${"a&".repeat(count)}last`;
      const { status, headers } = await call(`${redirector.url}/many?${query}`);
      expect([status, headers.get("location")]).toEqual([302, destination]);
      const explained = await call(`${api_url}/v1/links/${id}/explain`, { key, body: { query } });
      expect(explained.body).toMatchObject({ target: { url: destination } });
    }
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

describe("a click with text that must be cut", () => {
  test("is counted, and so are the others of its segment", async () => {
    const id = await createLink("cut");
    // The 255th UTF-16 unit is half of a surrogate pair.
    const source = `${"a".repeat(254)}${encodeURIComponent("🎈")}`;
    expect((await call(`${redirector.url}/cut?utm_source=${source}`)).status).toBe(302);
    expect((await call(`${redirector.url}/cut`)).status).toBe(302);
    await eventually(async () => expect(await countClicks(id)).toBe(2), 20_000);
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
    const readMetric = async (name: string): Promise<number> => {
      const text = await (await fetch(`${capped.metricsUrl}/metrics`)).text();
      const line = text.split("\n").find((line) => line.startsWith(`${name} `));
      return Number(line?.split(" ")[1] ?? -1);
    };
    const rejected = (reason: string) =>
      readMetric(`shorthop_redirector_connections_rejected_total{reason="${reason}"}`);
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
      await eventually(
        async () => expect(await readMetric("shorthop_redirector_connections_open")).toBe(60),
        10_000,
      );
      expect(proxies.every((connection) => connection.isOpen())).toBe(true);
      for (const { end } of [...network, ...site, ...proxies]) end();
      await eventually(
        async () => expect(await readMetric("shorthop_redirector_connections_open")).toBe(0),
        10_000,
      );
      const reopened = await openFrom(10, (i) => `2001:db8:0:7::${i}`);
      await eventually(
        async () => expect(await readMetric("shorthop_redirector_connections_open")).toBe(10),
        10_000,
      );
      for (const { end } of reopened) end();
    } finally {
      await capped.stop();
    }
  });
});
