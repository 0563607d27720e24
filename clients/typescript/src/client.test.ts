import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { fakeFetch } from "../../../test/harness/fake-fetch.ts";
import type { LiveClick } from "./analytics.ts";
import { splitIntoChunks } from "./calls.ts";
import { createClient } from "./client.ts";
import { ShorthopError } from "./errors.ts";

type Reply = (request: Request) => Response | Promise<Response>;

/** A client of a fake API, and the requests that it has sent. */
function createFake(reply: Reply) {
  const requests: Request[] = [];
  const client = createClient({
    baseUrl: "http://localhost",
    apiKey: "sk_test_x",
    fetch: fakeFetch((request) => {
      requests.push(request);
      return reply(request);
    }),
  });
  return { client, requests };
}

const ok: Reply = () => Response.json({ data: [], next_cursor: null, created: 0, failed: 0 });

const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => "no error",
    (error: unknown) => (error instanceof ShorthopError ? error.code : error),
  );

describe("ids", () => {
  test("are one segment of the path, whatever they contain", async () => {
    const { client, requests } = createFake(ok);
    await client.links.get("../keys");
    await client.links.delete("a/b?c#d");
    await client.keys.rotate("%2e%2e");
    await client.analytics.csv.geo("ü");
    expect(requests.map(({ url }) => new URL(url).pathname)).toEqual([
      "/v1/links/..%2Fkeys",
      "/v1/links/a%2Fb%3Fc%23d",
      "/v1/keys/%252e%252e/rotate",
      "/v1/analytics/%C3%BC/geo",
    ]);
  });

  test.each(["", ".", ".."])("%p is refused before a request is sent", async (id) => {
    const { client, requests } = createFake(ok);
    const { links, analytics, domains, keys } = client;
    const calls = [
      links.get(id),
      links.update(id, {}),
      links.delete(id),
      links.qr(id),
      analytics.summary(id),
      analytics.geo(id),
      analytics.devices(id),
      analytics.referrers(id),
      analytics.csv.summary(id),
      analytics.stream(id).next(),
      domains.get(id),
      domains.verify(id),
      domains.delete(id),
      keys.get(id),
      keys.revoke(id),
      keys.rotate(id),
    ];
    for (const call of calls) expect(await codeOf(call)).toBe("invalid_argument");
    expect(requests).toEqual([]);
  });
});

test("what is created has a key of its own, also on a page without https, where browsers have no randomUUID", async () => {
  const { client, requests } = createFake(ok);
  const link = { url: "https://example.com/" };
  Object.defineProperty(crypto, "randomUUID", { value: undefined, configurable: true });
  try {
    await client.links.create(link);
    await client.links.createMany([link]);
  } finally {
    Reflect.deleteProperty(crypto, "randomUUID");
  }
  const keys = requests.map(({ headers }) => headers.get("idempotency-key"));
  expect(new Set(keys).size).toBe(2);
  for (const key of keys) expect(key).toMatch(/^[\da-z]{10,40}$/);
});

describe("lists", () => {
  const entries = Array.from({ length: 5 }, (_, i) => ({ id: `link_${i}` }));

  test("are followed by cursor", async () => {
    const { client, requests } = createFake(({ url }) => {
      const after = new URL(url).searchParams.get("starting_after") ?? "missing";
      const start = Number(after === "" ? 0 : after);
      const next = start + 2 < entries.length ? String(start + 2) : null;
      return Response.json({ data: entries.slice(start, start + 2), next_cursor: next });
    });
    const all = await Array.fromAsync(client.links.all({ tag: ["a", "b"] }));
    expect(all.map(({ id }) => id)).toEqual(entries.map(({ id }) => id));
    expect(requests.map(({ url }) => new URL(url).search)).toEqual([
      "?limit=100&starting_after=&tag=a&tag=b",
      "?limit=100&starting_after=2&tag=a&tag=b",
      "?limit=100&starting_after=4&tag=a&tag=b",
    ]);
  });
});

describe("long lists", () => {
  test("of links are created in requests that the API accepts, with positions in the whole", async () => {
    const { client, requests } = createFake(async (request) => {
      const { links } = (await request.json()) as { links: { url: string }[] };
      const data = links.map((link, index) => ({ index, link }));
      return Response.json({ data, created: links.length - 1, failed: 1 });
    });
    const links = Array.from({ length: 230 }, (_, i) => ({
      url: `https://example.com/${i}`,
      ...(i < 12 ? { password: "secret" } : {}),
    }));
    const result = await client.links.createMany(links, { idempotencyKey: "import" });
    expect(result.data.map(({ index }) => index)).toEqual(links.map((_, i) => i));
    expect([result.created, result.failed]).toEqual([226, 4]);
    expect(requests.map(({ headers }) => headers.get("idempotency-key"))).toEqual([
      "import-0",
      "import-1",
      "import-2",
      "import-3",
    ]);
  });

  test("of large links are created in requests of less than 1 MiB", async () => {
    const sizes: number[] = [];
    const { client } = createFake(async (request) => {
      const body = await request.text();
      sizes.push(Buffer.byteLength(body));
      const { links } = JSON.parse(body) as { links: object[] };
      const data = links.map((link, index) => ({ index, link }));
      return Response.json({ data, created: links.length, failed: 0 });
    });
    const notes = "ü".repeat(10_000);
    const links = Array.from({ length: 100 }, () => ({ url: "https://example.com/", notes }));
    expect((await client.links.createMany(links)).created).toBe(100);
    expect(sizes.length).toBe(3);
    expect(Math.max(...sizes)).toBeLessThan(1024 ** 2);
  });

  test("are split within the limits, in order and without loss", () => {
    const limits = { links: 5, passwords: 2, bytes: 150 };
    const anyRow = fc.option(fc.constant("secret"), { nil: undefined });
    fc.assert(
      fc.property(fc.array(anyRow, { maxLength: 40 }), (passwords) => {
        const items = passwords.map((password) => ({
          link: { url: "https://example.com", ...(password === undefined ? {} : { password }) },
        }));
        const chunks = splitIntoChunks(items, ({ link }) => link, limits);
        expect(chunks.flat()).toEqual(items);
        for (const chunk of chunks) {
          expect(chunk.length).toBeWithin(1, limits.links + 1);
          const withPassword = chunk.filter(({ link }) => link.password !== undefined);
          expect(withPassword.length).toBeLessThanOrEqual(limits.passwords);
          expect(JSON.stringify(chunk.map(({ link }) => link)).length).toBeLessThan(
            limits.bytes + 2,
          );
        }
      }),
    );
  });

  test("that stop midway say what is done, and go on without doing it again", async () => {
    const isRefused = { now: true };
    const made = new Map<string | null, object>();
    const { client, requests } = createFake(async (request) => {
      const key = request.headers.get("idempotency-key");
      const { links } = (await request.json()) as { links: object[] };
      if (isRefused.now && key?.endsWith("-2") === true)
        return Response.json(
          { error: { code: "rate_limited", message: "Try again in 300 seconds." } },
          { status: 429, headers: { "retry-after": "300" } },
        );
      const data = links.map((_, index) => ({ index, link: { id: `link_${made.size}_${index}` } }));
      const body = made.get(key) ?? { data, created: links.length, failed: 0 };
      made.set(key, body);
      return Response.json(body);
    });
    const links = Array.from({ length: 250 }, (_, i) => ({ url: `https://example.com/${i}` }));
    const error: unknown = await client.links.createMany(links).catch((thrown: unknown) => thrown);
    if (!(error instanceof ShorthopError)) throw new Error("It was not refused.");
    expect(error).toMatchObject({ code: "rate_limited", retryAfterSeconds: 300 });
    expect(error.message).toContain("200 of 250 are done");
    expect([error.done?.data.length, error.done?.created]).toEqual([200, 200]);
    // Who prints the error reads it, and not two hundred links.
    expect(Object.keys(error)).not.toContain("done");
    isRefused.now = false;
    const { idempotencyKey = "" } = error;
    const { created, data } = await client.links.createMany(links, { idempotencyKey });
    expect([created, data.length, made.size, requests.length]).toEqual([250, 250, 3, 6]);
  });

  test("of ids are asked for in several requests", async () => {
    const { client, requests } = createFake(async (request) => {
      const { link_ids } = (await request.json()) as { link_ids: string[] };
      const [first = "", ...others] = link_ids;
      return Response.json({
        data: others.map((link_id) => ({ link_id, clicks: 1 })),
        errors: [{ link_id: first, code: "not_found", message: "m" }],
      });
    });
    const link_ids = Array.from({ length: 150 }, (_, i) => `link_${i}`);
    const { data, errors } = await client.analytics.bulk({ link_ids });
    expect([data.length, errors?.length, requests.length]).toEqual([148, 2, 2]);
  });
});

/** A text that arrives in pieces of a byte. */
const byteByByte = (text: string) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const byte of new TextEncoder().encode(text)) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });

const click = (id: string): string => `${JSON.stringify({ id, city: "Köln" })}\n`;

describe("single clicks", () => {
  test("are followed by cursor, in pages of 1,000", async () => {
    const { client, requests } = createFake(({ url }) => {
      const after = new URL(url).searchParams.get("starting_after");
      const [id, next_cursor] = after === null ? ["2", "x"] : ["1", null];
      return Response.json({ data: [{ id }], next_cursor });
    });
    const all = await Array.fromAsync(client.clicks.all({ country: "DE" }));
    expect(all.map(({ id }) => id)).toEqual(["2", "1"]);
    expect(requests.map(({ url }) => new URL(url).search)).toEqual([
      "?limit=1000&country=DE",
      "?limit=1000&country=DE&starting_after=x",
    ]);
  });

  test("are exported line by line, however the lines are cut into pieces", async () => {
    const { client } = createFake(() => new Response(byteByByte(click("1") + click("2"))));
    const all = await Array.fromAsync(client.clicks.export());
    expect(all.map(({ id, city }) => [id, city])).toEqual([
      ["1", "Köln"],
      ["2", "Köln"],
    ]);
  });

  test("whose export breaks off are an error, not the end", async () => {
    const brokenLine = click("1") + click("2").slice(0, -1);
    const brokenBody = () =>
      new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new TextEncoder().encode(click("1"))),
        pull: (controller) => controller.error(new Error("The connection was closed.")),
      });
    for (const body of [() => brokenLine, brokenBody]) {
      const { client } = createFake(() => new Response(body()));
      expect(await codeOf(Array.fromAsync(client.clicks.export()))).toBe("network");
    }
  });

  test("are not exported any further after an abort", async () => {
    const stop = new AbortController();
    const { client } = createFake(({ signal }) => {
      const pieces = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(click("1")));
          signal.addEventListener("abort", () => controller.error(signal.reason));
        },
      });
      return new Response(pieces);
    });
    const clicks = client.clicks.export({}, { signal: stop.signal });
    expect((await clicks.next()).value?.id).toBe("1");
    stop.abort();
    expect(await codeOf(clicks.next())).toBe("aborted");
  });
});

const createEvent = (id: string): string => `id: ${id}\nevent: click\ndata: {"country":"DE"}\n\n`;

describe("the stream of clicks", () => {
  test("resumes after the last click when the connection ends, and ends with the signal", async () => {
    const { client, requests } = createFake(({ headers }) => {
      const last = headers.get("last-event-id");
      return new Response(last === null ? `: hello\n\n${createEvent("1")}` : createEvent("2"));
    });
    const stop = new AbortController();
    const seen: LiveClick[] = [];
    const reading = (async () => {
      for await (const click of client.analytics.stream("link_1", { signal: stop.signal })) {
        seen.push(click);
        if (click.id === "2") stop.abort();
      }
    })();
    expect(await codeOf(reading)).toBe("aborted");
    expect(seen.map(({ id, country }) => [id, country])).toEqual([
      ["1", "DE"],
      ["2", "DE"],
    ]);
    expect(requests[1]?.headers.get("last-event-id")).toBe("1");
  });

  test("reads events however they are cut into pieces", async () => {
    const events =
      'id: 1\r\nevent: click\r\ndata: {"city":"Köln"}\r\n\r\nid: 2\nevent: other\ndata: x\n\nid: 3\nevent: click\ndata: {"city":"Łódź"}\n\n';
    const { client } = createFake(() => new Response(byteByByte(events)));
    const stream = client.analytics.stream("link_1");
    const cities = [(await stream.next()).value?.city, (await stream.next()).value?.city];
    await stream.return();
    expect(cities).toEqual(["Köln", "Łódź"]);
  });
});
