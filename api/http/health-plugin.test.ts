import { expect, test } from "bun:test";

import { Elysia } from "elysia";

import { createFakeApi, errorCodeOf } from "../../test/harness/fake-api.ts";
import { healthPlugin } from "./health-plugin.ts";

test("a load balancer's health check needs no key and no store", async () => {
  // A service that is called throws.
  const { status, body } = await createFakeApi().send("/healthz");
  expect([status, body]).toEqual([200, { status: "ok" }]);
  expect((await createFakeApi().send("/healthz", { method: "POST" })).status).toBe(404);
});

test("a health check with two hosts is rejected as any other request", async () => {
  for (const path of ["/healthz", "/v1/limits"]) {
    const response = await createFakeApi().send(path, {
      headers: { host: "a.example, b.example" },
    });
    expect([path, response.status, errorCodeOf(response)]).toEqual([path, 400, "invalid_request"]);
    expect(response.headers.get("x-request-id")).not.toBeNull();
  }
});

test("a stopping process sends its clients to another one with every response", async () => {
  let stopping = false;
  const app = new Elysia().use(healthPlugin(() => stopping)).get("/", () => "page");
  const connection = async (path: string) =>
    (await app.handle(new Request(`http://localhost${path}`))).headers.get("connection");
  expect(await connection("/")).toBeNull();
  stopping = true;
  for (const path of ["/", "/healthz", "/missing"]) expect(await connection(path)).toBe("close");
});
