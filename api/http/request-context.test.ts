import { expect, test } from "bun:test";

import { Elysia } from "elysia";

import { requestContextPlugin } from "./request-context.ts";

const app = new Elysia()
  .use(requestContextPlugin(() => ""))
  .get("/", ({ query }) => ({ names: Object.keys(query) }))
  .post("/unread", ({ request }) => ({ read: request.bodyUsed }));

test("the framework parses no query: routes with an access rule read it after authentication", async () => {
  const response = await app.handle(new Request("http://localhost/?a=1&b=%41"));
  expect(await response.json()).toEqual({ names: [] });
});

test("the framework reads no body that a route does not use", async () => {
  const headers = { "content-type": "application/json" };
  const request = new Request("http://localhost/unread", { method: "POST", headers, body: "{" });
  const response = await app.handle(request);
  expect(await response.json()).toEqual({ read: false });
});
