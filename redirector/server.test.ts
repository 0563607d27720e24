import { beforeEach, describe, expect, test } from "bun:test";

import { createClientAddress } from "../shared/client-address.ts";
import type { Click } from "../shared/contracts/click-page.ts";
import type { ActiveLink } from "../shared/contracts/link-record.ts";
import { createLinkCache } from "./link-cache.ts";
import { createHandler } from "./server.ts";

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

/** A handler whose links are all in the stream, none in memory yet. */
function createTestHandler() {
  const cache = createLinkCache(1_000_000);
  return createHandler({
    cache,
    feed: {
      async fetch(domain, alias) {
        fetched.push(`${domain}/${alias}`);
        if (broken) throw new Error("NATS is away.");
        const found = inStream.find((known) => known.domain === domain && known.alias === alias);
        if (found !== undefined) cache.put(found);
        return found !== undefined;
      },
    },
    journal: { append: (click) => clicks.push(click) > 0 },
    clientAddress: createClientAddress(["127.0.0.1"]),
    checkPassword: async (_link, _address, password) => (password === "right" ? "right" : "wrong"),
    hosts: new Set(["sho.rt"]),
    rootRedirectUrl: undefined,
    onAnswer: () => undefined,
  });
}

const request = (path: string, init: RequestInit = {}): Request =>
  new Request(`http://sho.rt${path}`, {
    ...init,
    headers: { host: "sho.rt", ...Object.fromEntries(new Headers(init.headers)) },
  });

beforeEach(() => {
  clicks = [];
  fetched = [];
  inStream = [link];
  broken = false;
});

describe("answering people", () => {
  test("a GET is one click with all that is known of it; the second comes from memory, at once", async () => {
    const handle = createTestHandler();
    const headers = {
      "user-agent": "agent",
      referer: "https://example.org/",
      "accept-language": "de",
      "x-forwarded-for": "198.51.100.7",
      "sec-purpose": "prefetch;prerender",
      dnt: "1",
    };
    const first = await handle(request("/abc?utm_source=x", { headers }), "127.0.0.1");
    expect([first.status, first.headers.get("location")]).toEqual([302, link.destination]);
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
        referrer: "https://example.org/",
        language: "de",
        query: "utm_source=x",
      },
    ]);
    const second = handle(request("/abc"), "203.0.113.5");
    expect(second).toBeInstanceOf(Response);
    expect(clicks[1]).toMatchObject({ address: "203.0.113.5", prefetch: false, privacy: false });
    expect(fetched).toEqual(["/abc"]);
  });

  test("HEAD, errors and wrong passwords are no clicks; a right password is one", async () => {
    inStream = [link, { ...link, alias: "secret", password_hash: "hash" }];
    const handle = createTestHandler();
    const post = (password: string) =>
      handle(
        request("/secret", { method: "POST", body: new URLSearchParams({ password }) }),
        "127.0.0.1",
      );
    expect((await handle(request("/abc", { method: "HEAD" }), "127.0.0.1")).status).toBe(302);
    expect((await handle(request("/none"), "127.0.0.1")).status).toBe(404);
    expect((await handle(request("/secret"), "127.0.0.1")).status).toBe(401);
    expect((await post("wrong")).status).toBe(401);
    expect(clicks).toEqual([]);
    expect((await post("right")).status).toBe(302);
    expect(clicks).toHaveLength(1);
  });

  test("a custom domain has its own links", async () => {
    inStream = [{ ...link, domain: "go.example.com", destination: "https://example.com/custom" }];
    const handle = createTestHandler();
    const onCustom = await handle(
      request("/abc", { headers: { host: "Go.Example.com:443" } }),
      "127.0.0.1",
    );
    expect(onCustom.headers.get("location")).toBe("https://example.com/custom");
    expect((await handle(request("/abc"), "127.0.0.1")).status).toBe(404);
  });

  test("a link that cannot be looked up is 503, not 404", async () => {
    broken = true;
    const answer = await createTestHandler()(request("/abc"), "127.0.0.1");
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "2"]);
  });
});
