import { beforeEach, describe, expect, test } from "bun:test";

import { passageText } from "../shared/bytes.ts";
import { createClientAddress } from "../shared/client-address.ts";
import {
  type Click,
  decodePage,
  encodePageHeader,
  encodeRawClick,
  RECORD_BYTES_MAX,
} from "../shared/contracts/click-page.ts";
import type { ActiveLink } from "../shared/contracts/link-record.ts";
import { createLinkCache } from "./cache/link-cache.ts";
import { createHandler } from "./handler.ts";
import type { Answer } from "./http/answer.ts";
import { createHeadReader } from "./http/head.ts";
import { createLookups } from "./lookups.ts";
import { createPages } from "./pages.ts";
import { createPasswordPasses } from "./password-pass.ts";

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
/** What every look-up waits for. */
let answering: Promise<void>;
let cache: ReturnType<typeof createLinkCache>;

/** A handler whose links are all in the stream, none in memory yet. */
function createTestHandler() {
  cache = createLinkCache(1024 ** 2);
  const handle = createHandler({
    cache,
    feed: {
      async fetch(domain, alias) {
        fetched.push(`${domain}/${alias}`);
        await answering;
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
        const header = encodePageHeader({ journalId: link.link_id, page: 0 });
        clicks.push(
          ...(decodePage(Buffer.concat([header, record.subarray(0, end)]))?.clicks ?? []),
        );
      },
    },
    clientAddress: createClientAddress(["127.0.0.1"]),
    checkPassword: async (_link, _address, password) => (password === "right" ? "right" : "wrong"),
    passes: createPasswordPasses("a secret of the test", true),
    lookups: createLookups(),
    pages: createPages(),
    hosts: new Set(["sho.rt"]),
    rootRedirectUrl: undefined,
    onAnswer: () => undefined,
  });
  return (
    path: string,
    {
      method = "GET",
      host = "sho.rt",
      fields = {},
      body = "",
      peer = "127.0.0.1",
    }: Partial<Sent> = {},
  ): Answer | Promise<Answer> => {
    const lines = Object.entries({ host, "content-length": body.length, ...fields });
    const text = `${method} ${path} HTTP/1.1\r\n${lines.map(([n, v]) => `${n}: ${v}\r\n`).join("")}\r\n`;
    const bytes = Buffer.from(text + body);
    const { head, read } = createHeadReader();
    expect(read(bytes, 0)).toEqual({ kind: "head" });
    const sent = { bytes, start: head.length, end: bytes.length };
    return handle({ head, body: sent, now: Date.now(), peer });
  };
}

type Sent = {
  method: string;
  host: string;
  fields: Record<string, string>;
  body: string;
  peer: string;
};

function locationOf(answer: Answer): string | undefined {
  if (!("location" in answer)) return answer.headers["location"];
  return typeof answer.location === "string" ? answer.location : passageText(answer.location);
}

const statusOf = (answer: Answer): number => ("location" in answer ? 302 : answer.status);

const FORM = { "content-type": "application/x-www-form-urlencoded" };

beforeEach(() => {
  clicks = [];
  fetched = [];
  inStream = [link];
  broken = false;
  answering = Promise.resolve();
});

describe("answering people", () => {
  test("a GET is one click with all that is known of it; the second comes from memory, at once", async () => {
    const ask = createTestHandler();
    const fields = {
      "user-agent": "agent",
      referer: "https://example.org/ü",
      "accept-language": "de",
      "x-forwarded-for": "198.51.100.7",
      "sec-purpose": "prefetch;prerender",
      dnt: "1",
    };
    expect(locationOf(await ask("/abc?utm_source=x", { fields }))).toBe(link.destination);
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
    const second = ask("/abc", { peer: "203.0.113.5" });
    expect(second).not.toBeInstanceOf(Promise);
    expect(clicks[1]).toMatchObject({ address: "203.0.113.5", prefetch: false, privacy: false });
    expect(fetched).toEqual(["/abc"]);
  });

  test("HEAD, errors and wrong passwords are no clicks; a right password is one", async () => {
    inStream = [link, { ...link, alias: "secret", password_hash: "hash" }];
    const ask = createTestHandler();
    const post = async (password: string) =>
      statusOf(
        await ask("/secret", { method: "POST", body: `password=${password}`, fields: FORM }),
      );
    expect(statusOf(await ask("/abc", { method: "HEAD" }))).toBe(302);
    expect(statusOf(await ask("/none"))).toBe(404);
    expect(statusOf(await ask("/secret"))).toBe(401);
    expect(await post("wrong")).toBe(401);
    expect(clicks).toEqual([]);
    expect(await post("right")).toBe(302);
    expect(clicks).toHaveLength(1);
  });

  test("who has typed the password is let through for a while, to that state of that link alone", async () => {
    const secret = { ...link, alias: "secret", password_hash: "hash" };
    inStream = [secret, { ...secret, alias: "other", link_id: link.account_id }];
    const ask = createTestHandler();
    const right = await ask("/secret", { method: "POST", body: "password=right", fields: FORM });
    const given = "location" in right ? "" : (right.headers["set-cookie"] ?? "");
    expect(given).toMatch(/; Path=\/secret; Max-Age=900; HttpOnly; SameSite=Lax; Secure$/);
    const fields = { cookie: `a=b; ${given.split(";")[0]}; c=d` };
    expect(locationOf(await ask("/secret", { fields }))).toBe(link.destination);
    expect(clicks).toHaveLength(2);
    expect(statusOf(await ask("/other", { fields }))).toBe(401);
    const forged = { cookie: `${given.split(";")[0]?.slice(0, -1)}x` };
    expect(statusOf(await ask("/secret", { fields: forged }))).toBe(401);
    cache.put({ ...secret, version: 2, password_hash: "another" });
    expect(statusOf(await ask("/secret", { fields }))).toBe(401);
    expect(clicks).toHaveLength(2);
  });

  test("the form's page lets browsers follow the redirect to wherever the link leads", async () => {
    inStream = [{ ...link, password_hash: "hash" }];
    const page = await createTestHandler()("/abc");
    const policy = "headers" in page ? page.headers["content-security-policy"] : "";
    expect(policy).toContain("form-action http: https:");
  });

  test("a custom domain has its own links", async () => {
    inStream = [{ ...link, domain: "go.example.com", destination: "https://example.com/custom" }];
    const ask = createTestHandler();
    expect(locationOf(await ask("/abc", { host: "Go.Example.com:443" }))).toBe(
      "https://example.com/custom",
    );
    expect(statusOf(await ask("/abc"))).toBe(404);
  });

  test("the short URL's own query is passed on by links that want it, and by no others", async () => {
    inStream = [link, { ...link, alias: "passing", forward_query: true }];
    const ask = createTestHandler();
    expect(locationOf(await ask("/abc?x=1"))).toBe(link.destination);
    expect(locationOf(await ask("/passing?x=%C3%BC"))).toBe(`${link.destination}?x=%C3%BC`);
    expect(locationOf(await ask("/passing"))).toBe(link.destination);
  });

  test("answers that were waited for stay as they were decided, whatever is answered meanwhile", async () => {
    inStream = Array.from({ length: 50 }, (_, i) => ({
      ...link,
      alias: `a${i}`,
      destination: `https://example.com/${i}`,
      forward_query: i % 2 === 0,
    }));
    const ask = createTestHandler();
    const answers = await Promise.all(inStream.map(async ({ alias }) => ask(`/${alias}?q`)));
    expect(answers.map(locationOf)).toEqual(
      inStream.map(({ destination }, i) => destination + (i % 2 === 0 ? "?q=" : "")),
    );
  });

  test("a link that cannot be looked up is 503, not 404", async () => {
    broken = true;
    const answer = await createTestHandler()("/abc");
    expect(answer).toMatchObject({ status: 503, headers: { "retry-after": "2" } });
  });

  test("whoever asks for many aliases that do not exist is refused for a while, and nobody else", async () => {
    const ask = createTestHandler();
    const scan = async (peer: string) => {
      const statuses = [];
      for (let i = 0; i < 130; i++) statuses.push(statusOf(await ask(`/none-${i}`, { peer })));
      return statuses;
    };
    const statuses = await scan("203.0.113.1");
    expect(statuses.filter((status) => status === 404)).toHaveLength(120);
    expect(statuses.filter((status) => status === 429)).toHaveLength(10);
    expect(statusOf(await ask("/abc", { peer: "203.0.113.2" }))).toBe(302);
    // What is in memory needs no look-up.
    expect(statusOf(await ask("/abc", { peer: "203.0.113.1" }))).toBe(302);
  });

  test("look-ups beyond what NATS should bear are told to come again, and what is in memory goes on", async () => {
    const ask = createTestHandler();
    expect(statusOf(await ask("/abc"))).toBe(302);
    const { promise, resolve } = Promise.withResolvers<void>();
    answering = promise;
    const waiting = Array.from({ length: 512 }, async (_, i) =>
      ask(`/waiting-${i}`, { peer: `203.0.113.${i % 250}` }),
    );
    const refused = await ask("/one-more", { peer: "198.51.100.1" });
    expect(refused).toMatchObject({ status: 503, headers: { "retry-after": "2" } });
    expect(statusOf(await ask("/abc"))).toBe(302);
    resolve();
    expect(new Set((await Promise.all(waiting)).map(statusOf))).toEqual(new Set([404]));
    expect(statusOf(await ask("/one-more", { peer: "198.51.100.1" }))).toBe(404);
  });
});
