import { expect, test } from "bun:test";

import { Elysia } from "elysia";

import { compressReads } from "./compression.ts";

const LONG = { data: Array.from({ length: 100 }, (_, i) => ({ id: `link_${i}`, clicks: i })) };
const TEXT = JSON.stringify(LONG);

const app = new Elysia()
  .wrap(compressReads)
  .get("/long", () => LONG)
  .post("/long", () => LONG)
  .get("/short", () => ({ done: true }))
  .get("/tagged", ({ set }) => {
    set.headers["etag"] = '"1"';
    return LONG;
  })
  .get("/refused", ({ set }) => {
    set.status = 400;
    return LONG;
  })
  .get("/lines", () => new Response(TEXT, { headers: { "content-type": "application/x-ndjson" } }))
  .get("/varies", ({ set }) => {
    set.headers["vary"] = "Origin";
    return LONG;
  });

const send = async (path: string, accepted: string | undefined, method = "GET") => {
  const headers = accepted === undefined ? {} : { "accept-encoding": accepted };
  const response = await app.handle(new Request(`http://localhost${path}`, { method, headers }));
  const body = await response.arrayBuffer();
  const { headers: got } = response;
  const [encoding, vary] = [got.get("content-encoding"), got.get("vary")];
  const text = new TextDecoder().decode(encoding === "gzip" ? Bun.gunzipSync(body) : body);
  return { encoding, vary, text, bytes: body.byteLength, length: got.get("content-length") };
};

test("a long answer is compressed for clients that name gzip, and the same for others", async () => {
  const compressed = await send("/long", "br, gzip;q=0.5");
  expect(compressed).toMatchObject({ encoding: "gzip", vary: "Accept-Encoding", text: TEXT });
  expect(compressed.bytes).toBeLessThan(TEXT.length / 2);
  for (const accepted of [undefined, "br", "identity", "gzip;q=0"]) {
    expect(await send("/long", accepted)).toMatchObject({
      encoding: null,
      vary: "Accept-Encoding",
      text: TEXT,
    });
  }
});

test("a list of codings as long as a request is not read to its end", async () => {
  expect((await send("/long", `${"x, ".repeat(4_000)}gzip`)).encoding).toBeNull();
  // A coding is read with its weight or not at all, wherever the bound is.
  for (let before = 1_000; before < 1_024; before++)
    expect((await send("/long", `${"x".repeat(before)},gzip;q=0`)).encoding).toBeNull();
});

test("Vary keeps what it named before", async () => {
  expect((await send("/varies", "gzip")).vary).toBe("Origin, Accept-Encoding");
});

test("answers to POST, which may contain secrets, those with an ETag, errors and streams are left as they are", async () => {
  for (const [path, method] of [
    ["/long", "POST"],
    ["/tagged", "GET"],
    ["/refused", "GET"],
    ["/lines", "GET"],
  ] as const) {
    expect([path, await send(path, "gzip", method)]).toMatchObject([
      path,
      { encoding: null, vary: null, text: TEXT },
    ]);
  }
});

test("a short answer is not compressed, and has its text", async () => {
  expect(await send("/short", "gzip")).toMatchObject({
    encoding: null,
    vary: "Accept-Encoding",
    text: '{"done":true}',
  });
});

test("HEAD states no length that GET would not have", async () => {
  expect(await send("/long", "gzip", "HEAD")).toMatchObject({ length: null, bytes: 0 });
  expect((await send("/long", undefined, "HEAD")).length).toBe(String(TEXT.length));
});
