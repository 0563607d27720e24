import { describe, expect, test } from "bun:test";

import { fakeFetch } from "../../../test/harness/fake-fetch.ts";
import { parseRetryAfter, ShorthopError } from "./errors.ts";
import { type ApiRequest, send as sendRequest } from "./http.ts";

type Reply = Response | Error;

/** A fake API that returns the replies in order and records the requests. */
function fakeApi(replies: Reply[], options: { retriesMax?: number; timeoutMs?: number } = {}) {
  const requests: Request[] = [];
  const fetchOnce = fakeFetch((request) => {
    requests.push(request);
    const reply = replies.shift() ?? new Error("No reply left.");
    return reply instanceof Error ? Promise.reject(reply) : reply;
  });
  const client = {
    baseUrl: "http://localhost/",
    apiKey: "sk_test_x",
    fetch: fetchOnce,
    ...options,
  };
  return { send: (request: ApiRequest) => sendRequest(client, request), requests };
}

const errorResponse = (status: number, code: string, headers: Record<string, string> = {}) =>
  Response.json({ error: { code, message: "m" } }, { status, headers });

/** What a call rejects with. */
const errorOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => "no error",
    (error: unknown) => error,
  );

/** Never answers, and rejects when it is aborted. */
const silent = fakeFetch(
  ({ signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(new Error("any text")));
    }),
);

const CREATE_LINK = {
  method: "POST",
  path: "/v1/links",
  body: { url: "https://example.com/" },
  idempotencyKey: "k",
} as const;

describe("requests", () => {
  test("carry key, body, query and Idempotency-Key", async () => {
    const { send, requests } = fakeApi([Response.json({}), Response.json({})]);
    await send(CREATE_LINK);
    await send({ method: "GET", path: "/v1/links", query: { search: "ü&", page: undefined } });
    expect(requests[0]?.headers.get("authorization")).toBe("Bearer sk_test_x");
    expect(requests[0]?.headers.get("idempotency-key")).toBe("k");
    expect(await requests[0]?.json()).toEqual(CREATE_LINK.body);
    expect(requests[1]?.url).toBe("http://localhost/v1/links?search=%C3%BC%26");
    expect(requests[1]?.headers.get("content-type")).toBeNull();
  });

  test.each([429, 502, 503, 504])(
    "are retried after a %i, not before Retry-After",
    async (status) => {
      const { send, requests } = fakeApi([
        errorResponse(status, "x", { "retry-after": "1" }),
        Response.json({}),
      ]);
      const before = performance.now();
      expect((await send(CREATE_LINK)).status).toBe(200);
      expect(performance.now() - before).toBeGreaterThan(990);
      expect(requests.map(({ headers }) => headers.get("idempotency-key"))).toEqual(["k", "k"]);
    },
  );

  test("are retried when there was no response, and while the first request is in progress", async () => {
    const { send, requests } = fakeApi([
      new TypeError("connection refused"),
      errorResponse(409, "idempotency_in_progress", { "retry-after": "0" }),
      Response.json({}),
    ]);
    expect((await send(CREATE_LINK)).status).toBe(200);
    expect(requests).toHaveLength(3);
  });

  test("are not retried when that cannot help, nor beyond the maximum", async () => {
    const rejected = fakeApi([errorResponse(400, "alias_taken", { "x-request-id": "r" })]);
    expect(await errorOf(rejected.send(CREATE_LINK))).toMatchObject({
      name: "ShorthopError",
      status: 400,
      code: "alias_taken",
      message: "m",
      requestId: "r",
    });
    const tooLate = fakeApi([errorResponse(429, "rate_limited", { "retry-after": "3600" })]);
    expect(await errorOf(tooLate.send(CREATE_LINK))).toMatchObject({ retryAfterSeconds: 3_600 });
    const unreachable = fakeApi(
      Array.from({ length: 3 }, () => new TypeError("no")),
      { retriesMax: 1 },
    );
    expect(await errorOf(unreachable.send(CREATE_LINK))).toMatchObject({
      name: "ShorthopError",
      status: 0,
      code: "network",
      cause: expect.any(TypeError),
    });
    expect([
      rejected.requests.length,
      tooLate.requests.length,
      unreachable.requests.length,
    ]).toEqual([1, 1, 2]);
  });

  test("reject with the status when the response is no error envelope", async () => {
    const { send } = fakeApi([new Response("<html>", { status: 404 })]);
    const error = await send(CREATE_LINK).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ShorthopError);
    expect(error).toMatchObject({ status: 404, code: "unknown" });
  });

  test("reject with what the API says about the error", async () => {
    const details = [{ param: "url", message: "url is required." }];
    const error = { code: "invalid_request", message: "m", param: "url", details, doc_url: "u" };
    const { send } = fakeApi([Response.json({ error }, { status: 400 })]);
    const thrown = await send(CREATE_LINK).catch((reason: unknown) => reason);
    expect(thrown).toMatchObject({ param: "url", details, docUrl: "u" });
  });

  test("time out, and end with the signal, also between retries", async () => {
    const options = { baseUrl: "http://localhost", fetch: silent, retriesMax: 0 };
    const late = sendRequest({ ...options, timeoutMs: 5 }, { method: "GET", path: "/" });
    expect(await errorOf(late)).toMatchObject({ status: 0, code: "timeout" });
    const stop = new AbortController();
    const call = sendRequest(options, { method: "GET", path: "/", signal: stop.signal });
    stop.abort("enough");
    expect(await errorOf(call)).toMatchObject({ status: 0, code: "aborted", cause: "enough" });

    const { send, requests } = fakeApi([errorResponse(429, "x", { "retry-after": "20" })]);
    const second = new AbortController();
    const waiting = send({ ...CREATE_LINK, signal: second.signal });
    await Bun.sleep(0);
    second.abort();
    expect(await errorOf(waiting)).toMatchObject({ code: "aborted" });
    expect(requests).toHaveLength(1);
  });

  test("count a body that breaks off as a failed attempt", async () => {
    const broken = new ReadableStream({ pull: (controller) => controller.error(new Error("cut")) });
    const { send, requests } = fakeApi([new Response(broken), Response.json({ ok: true })]);
    expect(await (await send(CREATE_LINK)).json()).toEqual({ ok: true });
    expect(requests).toHaveLength(2);
  });
});

describe("Retry-After", () => {
  const now = Date.UTC(2026, 2, 2, 9, 15, 0);

  test.each([
    ["120", 120],
    [" 0 ", 0],
    ["Mon, 02 Mar 2026 09:15:42 GMT", 42],
    ["Mon, 02 Mar 2026 09:14:00 GMT", 0],
    ["soon", undefined],
    ["-1", undefined],
    [null, undefined],
  ])("%p is %p seconds", (value, seconds) => {
    expect(parseRetryAfter(value, now)).toBe(seconds);
  });
});
