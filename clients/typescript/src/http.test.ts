import { describe, expect, test } from "bun:test";

import { createSend, ShorthopError } from "./http.ts";

type Reply = Response | Error;

/** A service that gives the replies in turn, and notes what it was asked. */
function scripted(replies: Reply[], options: { retriesMax?: number; waitMaxMs?: number } = {}) {
  const asked: Request[] = [];
  const fetchOnce = (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    asked.push(url instanceof Request ? new Request(url, init) : new Request(url.toString(), init));
    const reply = replies.shift() ?? new Error("Nothing left to say.");
    return reply instanceof Error ? Promise.reject(reply) : Promise.resolve(reply);
  };
  const send = createSend({
    baseUrl: "http://localhost/",
    apiKey: "sk_test_x",
    fetch: Object.assign(fetchOnce, { preconnect: () => undefined }),
    ...options,
  });
  return { send, asked };
}

const refusal = (status: number, code: string, headers: Record<string, string> = {}) =>
  Response.json({ error: { code, message: "m" } }, { status, headers });

const CREATION = {
  method: "POST",
  path: "/v1/links",
  body: { url: "https://example.com/" },
  idempotencyKey: "k",
} as const;

describe("requests", () => {
  test("carry key, body, query and Idempotency-Key", async () => {
    const { send, asked } = scripted([Response.json({}), Response.json({})]);
    await send(CREATION);
    await send({ method: "GET", path: "/v1/links", query: { search: "ü&", page: undefined } });
    expect(asked[0]?.headers.get("authorization")).toBe("Bearer sk_test_x");
    expect(asked[0]?.headers.get("idempotency-key")).toBe("k");
    expect(await asked[0]?.json()).toEqual(CREATION.body);
    expect(asked[1]?.url).toBe("http://localhost/v1/links?search=%C3%BC%26");
    expect(asked[1]?.headers.get("content-type")).toBeNull();
  });

  test.each([429, 502, 503, 504])(
    "are tried again after a %i, as late as asked for",
    async (status) => {
      const { send, asked } = scripted([
        refusal(status, "x", { "retry-after": "1" }),
        Response.json({}),
      ]);
      const before = performance.now();
      expect((await send(CREATION)).status).toBe(200);
      expect(performance.now() - before).toBeGreaterThan(990);
      expect(asked.map(({ headers }) => headers.get("idempotency-key"))).toEqual(["k", "k"]);
    },
  );

  test("are tried again when there was no answer, and while the first is under way", async () => {
    const { send, asked } = scripted([
      new TypeError("connection refused"),
      refusal(409, "idempotency_in_progress", { "retry-after": "0" }),
      Response.json({}),
    ]);
    expect((await send(CREATION)).status).toBe(200);
    expect(asked).toHaveLength(3);
  });

  test("are not tried again when that cannot help, or for ever", async () => {
    const refused = scripted([refusal(400, "alias_taken", { "x-request-id": "r" })]);
    expect(refused.send(CREATION)).rejects.toMatchObject({
      name: "ShorthopError",
      status: 400,
      code: "alias_taken",
      message: "m",
      requestId: "r",
    });
    const late = scripted([refusal(429, "rate_limited", { "retry-after": "3600" })]);
    expect(late.send(CREATION)).rejects.toMatchObject({ retryAfterSeconds: 3_600 });
    const gone = scripted(
      Array.from({ length: 3 }, () => new TypeError("no")),
      { retriesMax: 1 },
    );
    expect(gone.send(CREATION)).rejects.toBeInstanceOf(TypeError);
    await Bun.sleep(600);
    expect([refused.asked.length, late.asked.length, gone.asked.length]).toEqual([1, 1, 2]);
  });

  test("that fail without an envelope fail with their status", async () => {
    const { send } = scripted([new Response("<html>", { status: 404 })]);
    const error = await send(CREATION).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ShorthopError);
    expect(error).toMatchObject({ status: 404, code: "unknown" });
  });
});
