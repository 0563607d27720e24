import { describe, expect, test } from "bun:test";
import { join } from "node:path";

import { FakeApi } from "../../test/harness/fake-api.ts";
import { ApiError, checkAll, DETAILS_MAX, ERRORS, invalidField, unavailable } from "./errors.ts";

test("docs/errors.md lists every code with its status", async () => {
  const page = await Bun.file(join(import.meta.dir, "../../docs/errors.md")).text();
  const listed = [...page.matchAll(/^\| `(\w+)` +\| (\d{3}) /gm)].map(([, code, status]) => [
    code,
    Number(status),
  ]);
  expect(listed).toEqual(Object.entries(ERRORS).map(([code, [status]]) => [code, status]));
});

test("doc_url of an error names an entry of a page that the API serves", async () => {
  const api = new FakeApi();
  const { body } = await api.send("/v1/links?tags=a", { key: api.addKey() });
  const { error } = body as { error: { code: string; doc_url: string } };
  const { host, pathname, hash } = new URL(error.doc_url);
  expect(host).toBe("api.test");
  expect((await api.send(pathname)).text).toContain(`id="${hash.slice(1)}"`);
});

test.each(["/v1/links/x?colour=red", "/v1/limits?a=1&b=2", "/v1/keys?tags=a", "/v1/domains?x=1"])(
  "an unknown query parameter is rejected and named: %s",
  async (path) => {
    const api = new FakeApi();
    const { status, body } = await api.send(path, { key: api.addKey() });
    const names = [...new URL(path, "http://x").searchParams.keys()];
    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: {
        code: "invalid_request",
        param: names[0],
        details: names.map((param) => ({ param })),
      },
    });
  },
);

test("the reference is compressed, is not sent twice to a client, and costs an address nothing", async () => {
  const api = new FakeApi();
  for (const path of ["/v1/openapi.json", "/docs", "/docs/errors", "/docs/swagger-ui.js"]) {
    const headers = { "accept-encoding": "gzip, br" };
    const first = await api.send(path, { headers });
    expect([path, first.status, first.headers.get("content-encoding")]).toEqual([
      path,
      200,
      "gzip",
    ]);
    expect(first.headers.get("x-ratelimit-remaining")).toBe("60");
    const etag = first.headers.get("etag") ?? "";
    const again = await api.send(path, { headers: { ...headers, "if-none-match": etag } });
    expect([path, again.status, again.text]).toEqual([path, 304, ""]);
    expect((await api.send(path)).headers.get("content-encoding")).toBeNull();
  }
});

const refuse = (param: string) => () => {
  throw invalidField(param, "is wrong");
};

const refusalOf = async (run: Promise<unknown>): Promise<unknown> =>
  await run.catch((error: unknown) => error);

describe("checks of one request", () => {
  test("name a bounded number of problems", async () => {
    const checks = Array.from({ length: 2 * DETAILS_MAX }, (_, i) => refuse(`field_${i}`));
    const error = await refusalOf(checkAll(checks));
    expect(error instanceof ApiError && error.details).toHaveLength(DETAILS_MAX);
  });

  test("fail as the service does when a check cannot be made", async () => {
    const failure = unavailable();
    const away = async () => await Promise.reject(failure);
    expect(await refusalOf(checkAll([refuse("alias"), away]))).toBe(failure);
  });
});
