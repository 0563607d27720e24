/** Goal: what every request meets, whatever its route: the steps of `site.ts`. */
import { expect, test } from "bun:test";

import { Elysia } from "elysia";

import { findFreePort } from "../deploy/local/ports.ts";
import { aliasProblem } from "../shared/contracts/alias.ts";
import { FakeApi, fakeContext, fakeServices, MemoryStores } from "../test/harness/fake-api.ts";
import { apiSite } from "./app.ts";
import { ApiKeyAuthenticator } from "./auth/api-key-auth.ts";
import { Authorizer } from "./auth/authorizer.ts";
import { notFound } from "./http/errors.ts";
import { listenOptions, Site } from "./site.ts";

test("a load balancer's health check needs no key and no store", async () => {
  // A service that is called throws.
  const { status, body } = await new FakeApi().send("/healthz");
  expect([status, body]).toEqual([200, { status: "ok" }]);
  expect((await new FakeApi().send("/healthz", { method: "POST" })).status).toBe(404);
});

test("a stopping process sends its clients to another one with every response", async () => {
  let stopping = false;
  const api = new FakeApi({}, { isStopping: () => stopping });
  const connection = async (path: string) => (await api.send(path)).headers.get("connection");
  expect(await connection("/docs")).toBeNull();
  stopping = true;
  for (const path of ["/docs", "/healthz", "/missing"])
    expect(await connection(path)).toBe("close");
});

const stores = new MemoryStores();
const site = new Site(fakeContext(stores), new ApiKeyAuthenticator(new Authorizer(stores)), {
  url: "https://sho.rt",
});
const app = new Elysia()
  .use(site.journey)
  .get("/", ({ query }) => ({ names: Object.keys(query) }))
  .post("/unread", ({ request }) => ({ read: request.bodyUsed }));

test("no link of the service's own domain has a path of the API, which may be there too", () => {
  const { routes } = apiSite(fakeContext(stores), fakeServices());
  const others = ["/v4/shorten", "/rest/v3/short-urls", "/yourls-api.php"];
  const taken = [...routes.map(({ path }) => path), ...others].filter(
    (path) => aliasProblem(path.split("/")[1] ?? "", null) === undefined,
  );
  expect(taken).toEqual([]);
});

test("the framework parses no query: routes with an access rule read it after authentication", async () => {
  const response = await app.handle(new Request("http://localhost/?a=1&b=%41"));
  expect(await response.json()).toEqual({ names: [] });
});

test("pages ignore the parameters that others add to their addresses", async () => {
  const api = new FakeApi({
    unsubscriber: { isValid: () => true },
    shared: { find: () => Promise.reject(notFound("share")) },
  });
  const added = "fbclid=IwAR0&utm_source=mail&mc_eid=1";
  for (const [path, status] of [
    ["/unsubscribe/token?", 200],
    ["/report-link?url=https://sho.rt/abc&", 200],
    ["/shared/token?", 404],
  ] as const)
    expect([path, (await api.send(`${path}${added}`)).status]).toEqual([path, status]);
  // A program is told of its mistake.
  expect((await api.send(`/v1/shared/token?${added}`)).status).toBe(400);
});

test("the framework reads no body that a route does not use", async () => {
  const headers = { "content-type": "application/json" };
  const request = new Request("http://localhost/unread", { method: "POST", headers, body: "{" });
  const response = await app.handle(request);
  expect(await response.json()).toEqual({ read: false });
});

const serve = (port: number, shared: boolean) =>
  Bun.serve({
    hostname: "127.0.0.1",
    port,
    ...listenOptions(shared),
    fetch: () => new Response("ok"),
  });

test("only processes that are meant to share a port can", async () => {
  const port = findFreePort();
  const first = serve(port, true);
  const second = serve(port, true);
  expect(() => serve(port, false)).toThrow();
  await Promise.all([first.stop(true), second.stop(true)]);
  const alone = serve(port, false);
  expect(() => serve(port, false)).toThrow();
  await alone.stop(true);
});
