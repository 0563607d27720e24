import { beforeEach, describe, expect, test } from "bun:test";

import { sliceToString } from "../shared/bytes.ts";
import { createClientAddress } from "../shared/client-address.ts";
import {
  type Click,
  decodeSegment,
  encodeRawClick,
  encodeSegmentHeader,
  RECORD_BYTES_MAX,
} from "../shared/contracts/click-segment.ts";
import type { ActiveLink } from "../shared/contracts/link-record.ts";
import { createLinkCache } from "./cache/link-cache.ts";
import { createErrorPages } from "./error-pages.ts";
import { createHandler } from "./handler.ts";
import { createRequestHeadParser } from "./http/request-head-parser.ts";
import type { RedirectorResponse } from "./http/response-writer.ts";
import { createLookups } from "./lookups.ts";
import { createUnlockCookies } from "./unlock-cookie.ts";

const link: ActiveLink = {
  state: "active",
  version: 1,
  domain: "",
  alias: "abc",
  link_id: "0190a5a2-0000-7000-8000-000000000001",
  account_id: "0190a5a2-0000-7000-8000-000000000002",
  mode: "test",
  destination: "https://example.com/a",
  expires_at: null,
  password_hash: null,
  forward_query: false,
};

let clicks: Click[];
let fetched: string[];
let inStream: ActiveLink[];
let broken: boolean;
/** Every fetch waits for this. */
let fetchGate: Promise<void>;
let cache: ReturnType<typeof createLinkCache>;

/** Creates a handler whose links are all in the stream, and none is cached. */
function createTestHandler() {
  cache = createLinkCache(1024 ** 2);
  const handle = createHandler({
    cache,
    feed: {
      async fetch(domain, alias) {
        fetched.push(`${domain}/${alias}`);
        await fetchGate;
        if (broken) throw new Error("NATS is away.");
        const found = inStream.find((known) => known.domain === domain && known.alias === alias);
        if (found !== undefined) cache.put(found);
        return found !== undefined;
      },
    },
    journal: {
      append(click) {
        const record = Buffer.alloc(RECORD_BYTES_MAX);
        const end = encodeRawClick(record, 0, click);
        const header = encodeSegmentHeader({ journalId: link.link_id, segment: 0 });
        clicks.push(
          ...(decodeSegment(Buffer.concat([header, record.subarray(0, end)]))?.clicks ?? []),
        );
      },
    },
    clientAddress: createClientAddress(["127.0.0.1"]),
    checkPassword: async (_link, { password }) => (password === "right" ? "right" : "wrong"),
    unlockCookies: createUnlockCookies("a secret of the test", true),
    lookups: createLookups(),
    pages: createErrorPages(),
    hosts: new Set(["sho.rt"]),
    rootRedirectUrl: undefined,
    onResponse: () => undefined,
  });
  return (
    path: string,
    {
      method = "GET",
      host = "sho.rt",
      fields = {},
      body = "",
      peer = "127.0.0.1",
    }: Partial<RequestOptions> = {},
  ): RedirectorResponse | Promise<RedirectorResponse> => {
    const lines = Object.entries({ host, "content-length": body.length, ...fields });
    const text = `${method} ${path} HTTP/1.1\r\n${lines.map(([n, v]) => `${n}: ${v}\r\n`).join("")}\r\n`;
    const bytes = Buffer.from(text + body);
    const { head, parse } = createRequestHeadParser();
    expect(parse(bytes, 0)).toEqual({ kind: "complete" });
    const form = { bytes, start: head.length, end: bytes.length };
    return handle({ head, body: form, now: Date.now(), peer });
  };
}

describe("a path that is not a cached alias byte by byte", () => {
  test.each(["/abc/", "/%61bc", "/ab%63/"])("%s is the link's", async (path) => {
    const request = createTestHandler();
    expect(locationOf(await request(path))).toBe("https://example.com/a");
    // The second time it is cached: the handler responds at once.
    const response = request(path);
    expect(response instanceof Promise ? undefined : locationOf(response)).toBe(
      "https://example.com/a",
    );
    expect(fetched).toEqual(["/abc"]);
    expect(clicks).toHaveLength(2);
  });

  test.each(["/%zz", "/%00", "/../abc"])("%s is malformed, and not looked up", async (path) => {
    const response = await createTestHandler()(path);
    expect("status" in response ? response.status : 302).toBe(400);
    expect(fetched).toEqual([]);
  });
});

type RequestOptions = {
  method: string;
  host: string;
  fields: Record<string, string>;
  body: string;
  peer: string;
};

function locationOf(response: RedirectorResponse): string | undefined {
  if (!("location" in response)) return response.headers["location"];
  return typeof response.location === "string"
    ? response.location
    : sliceToString(response.location);
}

const statusOf = (response: RedirectorResponse): number =>
  "location" in response ? 302 : response.status;

const FORM = { "content-type": "application/x-www-form-urlencoded" };

beforeEach(() => {
  clicks = [];
  fetched = [];
  inStream = [link];
  broken = false;
  fetchGate = Promise.resolve();
});

describe("the handler", () => {
  test("a GET is one click with all of its fields; the second is served from the cache, synchronously", async () => {
    const request = createTestHandler();
    const fields = {
      "user-agent": "agent",
      referer: "https://example.org/ü",
      "accept-language": "de",
      "x-forwarded-for": "198.51.100.7",
      "sec-purpose": "prefetch;prerender",
      dnt: "1",
    };
    expect(locationOf(await request("/abc?utm_source=x", { fields }))).toBe(link.destination);
    expect(clicks).toEqual([
      {
        time: expect.any(Number),
        linkId: link.link_id,
        accountId: link.account_id,
        mode: "test",
        prefetch: true,
        privacy: true,
        address: "198.51.100.7",
        host: "sho.rt",
        userAgent: "agent",
        referrer: "https://example.org/ü",
        language: "de",
        query: "utm_source=x",
      },
    ]);
    const second = request("/abc", { peer: "203.0.113.5" });
    expect(second).not.toBeInstanceOf(Promise);
    expect(clicks[1]).toMatchObject({ address: "203.0.113.5", prefetch: false, privacy: false });
    expect(fetched).toEqual(["/abc"]);
  });

  test("HEAD, errors and wrong passwords are no clicks; a right password is one", async () => {
    inStream = [link, { ...link, alias: "secret", password_hash: "hash" }];
    const request = createTestHandler();
    const post = async (password: string) =>
      statusOf(
        await request("/secret", { method: "POST", body: `password=${password}`, fields: FORM }),
      );
    expect(statusOf(await request("/abc", { method: "HEAD" }))).toBe(302);
    expect(statusOf(await request("/none"))).toBe(404);
    expect(statusOf(await request("/secret"))).toBe(401);
    expect(await post("wrong")).toBe(401);
    expect(clicks).toEqual([]);
    expect(await post("right")).toBe(302);
    expect(clicks).toHaveLength(1);
  });

  test("an unlock cookie unlocks only its link, and only that version of the link", async () => {
    const secret = { ...link, alias: "secret", password_hash: "hash" };
    inStream = [secret, { ...secret, alias: "other", link_id: link.account_id }];
    const request = createTestHandler();
    const right = await request("/secret", {
      method: "POST",
      body: "password=right",
      fields: FORM,
    });
    const cookie = "location" in right ? "" : (right.headers["set-cookie"] ?? "");
    expect(cookie).toMatch(/; Path=\/secret; Max-Age=900; HttpOnly; SameSite=Lax; Secure$/);
    const fields = { cookie: `a=b; ${cookie.split(";")[0]}; c=d` };
    expect(locationOf(await request("/secret", { fields }))).toBe(link.destination);
    expect(clicks).toHaveLength(2);
    expect(statusOf(await request("/other", { fields }))).toBe(401);
    const forged = { cookie: `${cookie.split(";")[0]?.slice(0, -1)}x` };
    expect(statusOf(await request("/secret", { fields: forged }))).toBe(401);
    cache.put({ ...secret, version: 2, password_hash: "another" });
    expect(statusOf(await request("/secret", { fields }))).toBe(401);
    expect(clicks).toHaveLength(2);
  });

  test("the password form's policy lets browsers follow the redirect to any destination", async () => {
    inStream = [{ ...link, password_hash: "hash" }];
    const page = await createTestHandler()("/abc");
    const policy = "headers" in page ? page.headers["content-security-policy"] : "";
    expect(policy).toContain("form-action http: https:");
  });

  test("a custom domain has its own links", async () => {
    inStream = [{ ...link, domain: "go.example.com", destination: "https://example.com/custom" }];
    const request = createTestHandler();
    expect(locationOf(await request("/abc", { host: "Go.Example.com:443" }))).toBe(
      "https://example.com/custom",
    );
    expect(statusOf(await request("/abc"))).toBe(404);
  });

  test("the query is forwarded only by links with forward_query", async () => {
    inStream = [link, { ...link, alias: "forwarding", forward_query: true }];
    const request = createTestHandler();
    expect(locationOf(await request("/abc?x=1"))).toBe(link.destination);
    expect(locationOf(await request("/forwarding?x=%C3%BC"))).toBe(`${link.destination}?x=%C3%BC`);
    expect(locationOf(await request("/forwarding"))).toBe(link.destination);
  });

  test("responses after an await are those decided, whatever other requests did meanwhile", async () => {
    inStream = Array.from({ length: 50 }, (_, i) => ({
      ...link,
      alias: `a${i}`,
      destination: `https://example.com/${i}`,
      forward_query: i % 2 === 0,
    }));
    const request = createTestHandler();
    const responses = await Promise.all(inStream.map(async ({ alias }) => request(`/${alias}?q`)));
    expect(responses.map(locationOf)).toEqual(
      inStream.map(({ destination }, i) => destination + (i % 2 === 0 ? "?q=" : "")),
    );
  });

  test("a link that cannot be fetched is 503, not 404", async () => {
    broken = true;
    const response = await createTestHandler()("/abc");
    expect(response).toMatchObject({ status: 503, headers: { "retry-after": "2" } });
  });

  test("a client that requests many aliases that do not exist is rate limited, and no other client", async () => {
    const request = createTestHandler();
    const scan = async (peer: string) => {
      const statuses = [];
      for (let i = 0; i < 130; i++) statuses.push(statusOf(await request(`/none-${i}`, { peer })));
      return statuses;
    };
    const statuses = await scan("203.0.113.1");
    expect(statuses.filter((status) => status === 404)).toHaveLength(120);
    expect(statuses.filter((status) => status === 429)).toHaveLength(10);
    expect(statusOf(await request("/abc", { peer: "203.0.113.2" }))).toBe(302);
    // A cached link needs no lookup.
    expect(statusOf(await request("/abc", { peer: "203.0.113.1" }))).toBe(302);
  });

  test("an IPv6 network has one limit for all of its addresses, and a site ten times as much", async () => {
    const request = createTestHandler();
    const scan = async (count: number, peerOf: (i: number) => string) => {
      const statuses = [];
      for (let i = 0; i < count; i++)
        statuses.push(statusOf(await request(`/none-${i}`, { peer: peerOf(i) })));
      return statuses.filter((status) => status === 404).length;
    };
    expect(await scan(300, (i) => `2001:db8:0:7::${i.toString(16)}`)).toBe(120);
    expect(await scan(1_500, (i) => `2001:db8:1:${i.toString(16)}::1`)).toBe(1_200);
    expect(statusOf(await request("/abc", { peer: "2001:db8:2::1" }))).toBe(302);
  });

  test("one network gets no more than its share of the lookups in flight", async () => {
    const request = createTestHandler();
    const { promise, resolve } = Promise.withResolvers<void>();
    fetchGate = promise;
    const waiting = Array.from({ length: 64 }, async (_, i) =>
      request(`/waiting-${i}`, { peer: `2001:db8::${i}` }),
    );
    expect(await request("/one-more", { peer: "2001:db8::99" })).toMatchObject({ status: 503 });
    const other = request("/abc", { peer: "2001:db8:1::1" });
    resolve();
    expect(statusOf(await other)).toBe(302);
    expect(new Set((await Promise.all(waiting)).map(statusOf))).toEqual(new Set([404]));
    expect(statusOf(await request("/one-more", { peer: "2001:db8::99" }))).toBe(404);
  });

  test("a query that is too long to be forwarded is 414, and no click", async () => {
    const forwarding = { ...link, alias: "forwarding", forward_query: true };
    inStream = [forwarding, { ...forwarding, alias: "secret", password_hash: "hash" }, link];
    const request = createTestHandler();
    const long = "ü".repeat(3_000);
    for (const method of ["GET", "HEAD"])
      expect(statusOf(await request(`/forwarding?x=${long}`, { method }))).toBe(414);
    const post = { method: "POST", body: "password=right", fields: FORM };
    expect(statusOf(await request(`/secret?x=${long}`, post))).toBe(414);
    expect(clicks).toEqual([]);
    expect(statusOf(await request(`/forwarding?x=1`))).toBe(302);
    // A link without forward_query ignores the query.
    expect(statusOf(await request(`/abc?x=${long}`))).toBe(302);
    expect(clicks).toHaveLength(2);
  });

  test("lookups beyond the limit are 503 with Retry-After, and cached links still redirect", async () => {
    const request = createTestHandler();
    expect(statusOf(await request("/abc"))).toBe(302);
    const { promise, resolve } = Promise.withResolvers<void>();
    fetchGate = promise;
    const waiting = Array.from({ length: 512 }, async (_, i) =>
      request(`/waiting-${i}`, { peer: `203.0.113.${i % 250}` }),
    );
    const rejected = await request("/one-more", { peer: "198.51.100.1" });
    expect(rejected).toMatchObject({ status: 503, headers: { "retry-after": "2" } });
    expect(statusOf(await request("/abc"))).toBe(302);
    resolve();
    expect(new Set((await Promise.all(waiting)).map(statusOf))).toEqual(new Set([404]));
    expect(statusOf(await request("/one-more", { peer: "198.51.100.1" }))).toBe(404);
  });
});
