/** Posts to receivers that do all they can to waste memory, time and connections. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { gzipSync } from "node:zlib";

import { ReceiverRules } from "../../shared/webhooks.ts";
import { type Certificates, createCertificates } from "../../test/harness/certificates.ts";
import { dirForFile } from "../../test/harness/for-file.ts";
import {
  AddressBusy,
  BODY_BYTES_MAX,
  Connections,
  EXCERPT_BYTES_MAX,
  findReceivers,
  post,
  type Resolve,
} from "./post.ts";

const LOCAL = new ReceiverRules({
  WEBHOOK_NETWORKS_ALLOWED: ["127.0.0.0/8"],
  WEBHOOK_PORTS_ALLOWED: ["*"],
});

const PUBLIC = new ReceiverRules({
  WEBHOOK_NETWORKS_ALLOWED: [],
  WEBHOOK_PORTS_ALLOWED: ["443", "80"],
});

/** For receivers that send too little, and for those that send too much. */
const TIMEOUT_MS = 300;

const LONG_TIMEOUT_MS = 60_000;

const toLoopback: Resolve = () => Promise.resolve(["127.0.0.1"]);

/** Starts a server that does `respond` with each connection, whatever it is sent. */
async function startReceiver(respond: (socket: Socket) => void, tls?: Certificates) {
  let connections = 0;
  const received: string[] = [];
  const sockets = new Set<Socket>();
  const accept = (socket: Socket): void => {
    connections += 1;
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    socket.once("data", (bytes) => {
      received.push(bytes.toString());
      respond(socket);
    });
  };
  const server: Server =
    tls === undefined
      ? createServer(accept)
      : createTlsServer({ cert: readFileSync(tls.cert), key: readFileSync(tls.key) }, accept);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    port,
    received,
    connections: () => connections,
    open: () => sockets.size,
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

async function postTo(url: string, timeoutMs = TIMEOUT_MS) {
  const [receiver] = await findReceivers(new URL(url), LOCAL, toLoopback);
  if (receiver === undefined) throw new Error("There is no receiver.");
  const signal = AbortSignal.timeout(timeoutMs);
  return await post({ receiver, headers: { "x-test": "1" }, body: Buffer.from("{}"), signal });
}

const OK = "HTTP/1.1 200 OK\r\n";

/** Writes until the other side closes the connection. */
const writeEndlessly = (socket: Socket, part: string): void => {
  const timer = setInterval(() => socket.write(part.repeat(100)), 1);
  socket.on("close", () => clearInterval(timer));
};

const find = (url: string, ...addresses: string[]) =>
  findReceivers(new URL(url), PUBLIC, () => Promise.resolve(addresses));

test("posts the body with the name as Host, and returns the response", async () => {
  using receiver = await startReceiver((socket) => socket.end(`${OK}content-length: 2\r\n\r\nok`));
  const { port } = receiver;
  const response = await postTo(`http://hooks.example.com:${port}/a?b=c`);
  expect(response).toEqual({ status: 200, retryAfter: undefined, excerpt: "ok" });
  expect(receiver.received.join("")).toBe(
    `POST /a?b=c HTTP/1.1\r\nhost: hooks.example.com:${port}\r\nx-test: 1\r\ncontent-length: 2\r\naccept-encoding: identity\r\nconnection: close\r\n\r\n{}`,
  );
});

test("a redirect is a response, and is not followed", async () => {
  using other = await startReceiver((socket) => socket.end(OK));
  const location = `location: http://127.0.0.1:${other.port}/`;
  using receiver = await startReceiver((socket) =>
    socket.end(`HTTP/1.1 302 Found\r\n${location}\r\ncontent-length: 0\r\n\r\n`),
  );
  expect((await postTo(`http://a.example.com:${receiver.port}/`)).status).toBe(302);
  expect(other.connections()).toBe(0);
});

/** Posts to a receiver that sends `text` in parts of `size` bytes, and then ends. */
async function receive(text: string, size = text.length) {
  using receiver = await startReceiver((socket) => {
    socket.setNoDelay(true);
    for (let at = 0; at < text.length; at += size) socket.write(text.slice(at, at + size));
    socket.end();
  });
  return await postTo(`http://a.example.com:${receiver.port}/`, LONG_TIMEOUT_MS);
}

describe("a response", () => {
  test.each([1, 7, 1_000])("is read in parts of %p bytes", async (size) => {
    const sized = `${OK}Retry-After: 7\r\nContent-Length: 2\r\n\r\nok`;
    expect(await receive(sized, size)).toEqual({ status: 200, retryAfter: "7", excerpt: "ok" });
    const chunked = `${OK}Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`;
    expect(await receive(chunked, size)).toMatchObject({ excerpt: "abcde" });
    const interim = `HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n`;
    expect(await receive(interim, size)).toMatchObject({ status: 204 });
  });

  test("has what PostgreSQL can store, and only the beginning", async () => {
    expect((await receive(`${OK}\r\na\0b`)).excerpt).toBe("a\u{fffd}b");
    const long = `${OK}\r\n${"x".repeat(2 * BODY_BYTES_MAX)}`;
    expect((await receive(long)).excerpt).toHaveLength(EXCERPT_BYTES_MAX);
  });

  test.each(["SSH-2.0-OpenSSH_9\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 abc\r\n\r\n"])(
    "is not %j",
    async (text) => {
      expect(receive(text)).rejects.toThrow("The response is not HTTP/1.1.");
    },
  );
});

describe("hostile receivers", () => {
  test.each([
    [
      "endless headers",
      (socket: Socket) => {
        socket.write(OK);
        writeEndlessly(socket, `x-more: ${"y".repeat(1_000)}\r\n`);
      },
      "The headers are too long.",
    ],
    [
      "one endless header",
      (socket: Socket) => {
        writeEndlessly(socket, "HTTP/1.1 200 OK");
      },
      "The headers are too long.",
    ],
    ["silence", () => undefined, "No response in time."],
    [
      "slow bytes",
      (socket: Socket) => {
        let at = 0;
        const timer = setInterval(() => socket.write(OK.charAt(at++)), 20);
        socket.on("close", () => clearInterval(timer));
      },
      "No response in time.",
    ],
    [
      "endless interim responses",
      (socket: Socket) => {
        writeEndlessly(socket, "HTTP/1.1 100 Continue\r\n\r\n");
      },
      "There is no final response.",
    ],
    ["an immediate end", (socket: Socket) => void socket.end(), "closed without a response"],
  ])("%s end with an error", async (_, respond, message) => {
    using receiver = await startReceiver(respond);
    const timeoutMs = message === "No response in time." ? TIMEOUT_MS : LONG_TIMEOUT_MS;
    const posted = postTo(`http://a.example.com:${receiver.port}/`, timeoutMs);
    expect(posted).rejects.toThrow(message);
  });

  test("an endless body is left unread, and the connection is closed", async () => {
    using receiver = await startReceiver((socket) => {
      socket.write(`${OK}\r\n`);
      writeEndlessly(socket, "z".repeat(10_000));
    });
    const response = await postTo(`http://a.example.com:${receiver.port}/`, LONG_TIMEOUT_MS);
    expect(response.excerpt).toBe("z".repeat(1_024));
    while (receiver.open() > 0) await Bun.sleep(10);
  });

  test("a body that does not end does not delay the result until the deadline", async () => {
    using receiver = await startReceiver((socket) => void socket.write(`${OK}\r\nhere`));
    const response = await postTo(`http://a.example.com:${receiver.port}/`, LONG_TIMEOUT_MS);
    expect(response).toMatchObject({ status: 200, excerpt: "here" });
  });

  test("a compressed body stays as it is", async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000));
    using receiver = await startReceiver((socket) => {
      const length = `content-encoding: gzip\r\ncontent-length: ${bomb.length}`;
      socket.write(`${OK}${length}\r\n\r\n`);
      socket.end(bomb);
    });
    const { excerpt } = await postTo(`http://a.example.com:${receiver.port}/`, LONG_TIMEOUT_MS);
    expect(excerpt).not.toContain("\0\0");
    expect(excerpt.length).toBeLessThanOrEqual(1_024);
  });
});

describe("TLS", () => {
  const certificates = createCertificates(dirForFile("shorthop-webhooks-"));

  /** Posts in a process that trusts the test's authority; returns what it prints. */
  async function postTrusting(url: string): Promise<string> {
    const program = `
      import { post } from ${JSON.stringify(`${import.meta.dir}/post.ts`)};
      const url = new URL(${JSON.stringify(url)});
      const receiver = { address: "127.0.0.1", port: Number(url.port), url };
      const signal = AbortSignal.timeout(60_000);
      const response = await post({ receiver, headers: {}, body: Buffer.from("{}"), signal })
        .catch((error) => ({ status: error.code ?? error.message }));
      console.log(response.status);`;
    const child = Bun.spawn([process.execPath, "-e", program], {
      env: { ...process.env, NODE_EXTRA_CA_CERTS: certificates.ca },
      stdio: ["ignore", "pipe", "inherit"],
    });
    return (await new Response(child.stdout).text()).trim();
  }

  test("a certificate of the URL's name is accepted, of another name or authority not", async () => {
    using receiver = await startReceiver(
      (socket) => socket.end(`${OK}content-length: 0\r\n\r\n`),
      certificates,
    );
    expect(await postTrusting(`https://localhost:${receiver.port}/`)).toBe("200");
    expect(await postTrusting(`https://hooks.example.com:${receiver.port}/`)).toContain("ALTNAME");
    expect(postTo(`https://localhost:${receiver.port}/`, LONG_TIMEOUT_MS)).rejects.toThrow();
    expect(receiver.received).toHaveLength(1);
  });
});

describe("addresses", () => {
  test.each([
    "127.0.0.1",
    "10.1.2.3",
    "169.254.169.254",
    "100.64.0.1",
    "192.168.1.1",
    "0.0.0.0",
    "224.0.0.1",
    "::1",
    "fe80::1",
    "fd00::1",
    "::ffff:127.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
  ])("%s is refused, as the address of a name, among others, and in the URL", async (address) => {
    const message = "The host leads to an address that is not public.";
    expect(find("https://a.example.com/", address)).rejects.toThrow(message);
    expect(find("https://a.example.com/", "93.184.216.34", address)).rejects.toThrow(message);
    const host = address.includes(":") ? `[${address}]` : address;
    expect(find(`https://${host}/`)).rejects.toThrow(message);
  });

  test("public ones are connected to by the address that was checked, one of each family", async () => {
    const addresses = ["2606:2800:220::1", "2606:2800:220::2", "93.184.216.34", "93.184.216.35"];
    expect(await find("https://a.example.com/x", ...addresses)).toMatchObject([
      { address: "93.184.216.34", port: 443 },
      { address: "2606:2800:220::1", port: 443 },
    ]);
  });

  test("a name that resolves to nothing, and other ports, are refused", async () => {
    expect(find("https://a.example.com/")).rejects.toThrow("does not resolve");
    const failing = findReceivers(new URL("https://a.example.com/"), PUBLIC, () =>
      Promise.reject(new Error("SERVFAIL")),
    );
    expect(failing).rejects.toThrow("does not resolve");
    expect(find("https://a.example.com:22/", "93.184.216.34")).rejects.toThrow("Port 22");
  });
});

/** Begins work that does not end with connections to an address; returns how many there are. */
async function countOpen(
  connections: Connections,
  addresses: readonly string[],
  isProven: boolean,
) {
  let open = 0;
  const end = Promise.withResolvers<void>();
  const all = Promise.allSettled(
    addresses.map((address) =>
      connections.run(address, isProven, () => {
        open++;
        return end.promise;
      }),
    ),
  );
  return {
    open,
    end: async () => {
      end.resolve();
      return await all;
    },
  };
}

const repeated = (address: string): string[] => Array.from({ length: 200 }, () => address);

test("an address has few connections, and webhooks that work have others than those that may not", async () => {
  const connections = new Connections();
  const unproven = await countOpen(connections, repeated("203.0.113.1"), false);
  expect(unproven.open).toBe(25);
  expect((await countOpen(connections, ["203.0.113.1"], false)).open).toBe(0);
  expect((await countOpen(connections, ["203.0.113.2"], false)).open).toBe(1);
  expect((await countOpen(connections, repeated("203.0.113.1"), true)).open).toBe(50);
  const ended = await unproven.end();
  expect(ended.find(({ status }) => status === "rejected")).toMatchObject({
    reason: expect.any(AddressBusy),
  });
  expect((await countOpen(connections, repeated("203.0.113.1"), false)).open).toBe(25);
});

test("addresses of one IPv6 network are one receiver", async () => {
  const addresses = Array.from({ length: 200 }, (_, i) => `2001:db8::${i.toString(16)}`);
  expect((await countOpen(new Connections(), addresses, false)).open).toBe(25);
});
