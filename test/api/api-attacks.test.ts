/** Goal: a request costs no more than reading it, and other clients do not wait for it. */
import { describe, expect, test } from "bun:test";
import { Socket } from "node:net";

import { admin, createAccount, runAdmin, UNLIMITED } from "../harness/admin.ts";
import { ApiInProcess } from "../harness/api-in-process.ts";
import { type ApiResponse, call, codeOf, linkSchema } from "../harness/api.ts";
import { browserHeaders, createUser, trySignIn } from "../harness/dashboard.ts";
import { smallest } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";

/** Arrays in arrays: one hundred kilobytes. */
const DEPTH = 50_000;

const nested = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`;

/** Bound on how much longer other clients may wait: coarse, because it depends on the machine. */
const ADDED_DELAY_MS_MAX = 1_000;

/**
 * Requests of another client during an attack, which used to freeze a process for 15 s (3 s with
 * NODE_ENV=production).
 */
const OTHER_REQUESTS = 4;
const OTHER_INTERVAL_MS = 10;

const stack = await forFile(ApiInProcess.start({ clickhouse: true }));
const url = (path: string): string => `${stack.info().api_url}${path}`;

/**
 * Runs `attack` beside another client's requests. Returns its response, and by how many
 * milliseconds the slowest of those requests was slower than without the attack.
 */
async function measureAddedDelay(
  attack: () => Promise<ApiResponse>,
): Promise<{ response: ApiResponse; delayMs: number }> {
  let response: ApiResponse | undefined;
  const delayMs = await smallest(async () => {
    const baseline = await measureSlowest();
    const [attacked, slowest] = await Promise.all([attack(), measureSlowest()]);
    response = attacked;
    return Math.round(slowest - baseline);
  }, ADDED_DELAY_MS_MAX);
  if (response === undefined) throw new Error("Nothing was sent.");
  return { response, delayMs };
}

async function measureSlowest(): Promise<number> {
  const times = Array.from({ length: OTHER_REQUESTS }, async (_, i) => {
    await Bun.sleep(i * OTHER_INTERVAL_MS);
    const start = performance.now();
    const { status } = await readLink();
    expect(status).toBe(200);
    return performance.now() - start;
  });
  return Math.max(...(await Promise.all(times)));
}

const MEBIBYTE = 1024 * 1024;

/** Sends raw bytes; returns what arrives until the connection closes. */
function sendRaw(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = new Socket();
    let response = "";
    socket.on("data", (data) => (response += data.toString()));
    socket.on("close", () => resolve(response));
    socket.on("error", reject);
    socket.connect(Number(port), hostname, () => socket.write(text));
  });
}

const { key } = await createAccount(stack, "enterprise", UNLIMITED);
const target = await call(url("/v1/links"), { key, body: { url: "https://example.com/" } });
const link = linkSchema.parse(target.body).id;

const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  call(url(path), { key, body, headers });
const get = (path: string, headers: Record<string, string> = {}) =>
  call(url(path), { key, headers });
const readLink = () => get(`/v1/links/${link}`);
const signIn = (body: unknown) =>
  call(`${stack.info().dashboard_url}/auth/sign-in`, { body, headers: browserHeaders(stack) });

describe("an expensive request", () => {
  const attacks: [string, number, () => Promise<ApiResponse>][] = [
    ["arrays in arrays, with a key", 400, () => post("/v1/links", `{"url":${nested(DEPTH)}}`)],
    ["arrays in arrays", 400, () => signIn(nested(DEPTH))],
    ["arrays in a field", 400, () => signIn(`{"email":${nested(DEPTH)}}`)],
    ["objects in objects", 400, () => signIn(`${'{"a":'.repeat(DEPTH)}1${"}".repeat(DEPTH)}`)],
    ["brackets that never end", 400, () => signIn(`{"email":${"[".repeat(DEPTH)}`)],
    [
      "an e-mail address of a mebibyte",
      400,
      () => signIn({ email: `a@${"a.".repeat(500_000)}`, password: "whatever it is" }),
    ],
    ["100,000 values", 400, () => post("/v1/links", { url: Array(100_000).fill(0) })],
    ["60,000 fields", 400, () => post("/v1/links", manyFields(60_000))],
    ["9,000 unknown fields", 400, () => post("/v1/links", manyFields(9_000))],
    ["wrong link ids", 400, () => post("/v1/analytics/bulk", { link_ids: Array(19_000).fill(0) })],
    [
      "wrong metrics",
      400,
      () => post("/v1/analytics/bulk", { link_ids: ["a"], metrics: Array(19_000).fill(0) }),
    ],
    ["wrong links", 400, () => post("/v1/links/bulk", { links: manyLinks(9_000, {}) })],
    ["wrong scopes", 400, () => post("/v1/keys", { name: "x", scopes: Array(19_000).fill("x") })],
    ["a host of many labels", 400, () => post("/v1/links", { url: urlWithLabels(MEBIBYTE / 4) })],
    [
      "a hundred hosts of many labels",
      200,
      () => post("/v1/links/bulk", { links: manyLinks(100, { url: urlWithLabels(2_000) }) }),
    ],
    [
      "a URL of dots",
      400,
      () => post("/v1/links", { url: `https://a.de/${"../".repeat(300_000)}` }),
    ],
    [
      "an expiry of many digits",
      400,
      () =>
        post("/v1/links", { url: 1, expires_at: `2030-01-01T00:00:00.${"0".repeat(900_000)}Z` }),
    ],
    ["a long domain", 400, () => post("/v1/domains", { domain: "ü.".repeat(300_000) })],
    [
      "a link on a long domain",
      400,
      () => post("/v1/links", { url: "https://a.de", domain: "ü.".repeat(300_000) }),
    ],
    ["a megabyte of header", 431, () => get("/v1/limits", { "x-a": "a".repeat(MEBIBYTE) })],
    ["a long key", 401, () => call(url("/v1/limits"), { key: "x".repeat(15_000) })],
    [
      "a long Idempotency-Key",
      400,
      () => post("/v1/links", { url: "https://a.de" }, { "idempotency-key": "k".repeat(15_000) }),
    ],
    ["a long Accept", 200, () => get(`/v1/analytics/${link}`, { accept: ";q=,".repeat(3_500) })],
    ["many cookies", 200, () => get("/v1/limits", { cookie: "a=b;".repeat(3_500) })],
    ["many proxies", 200, () => get("/v1/limits", { "x-forwarded-for": "1,".repeat(7_000) })],
    ["100,000 parameters", 431, () => get(`/v1/links?${"a=1&".repeat(100_000)}`)],
    ["3,000 parameters", 400, () => get(`/v1/links?${"a=1&".repeat(3_000)}`)],
    ["brackets in a parameter", 200, () => get(`/v1/links?search=${"%5B".repeat(250)}`)],
    ["a search of wildcards", 200, () => get(`/v1/links?search=${"%25_".repeat(120)}`)],
    ["a long search", 400, () => get(`/v1/links?search=${"a".repeat(15_000)}`)],
    [
      "a long time zone",
      400,
      () => get(`/v1/analytics/${link}?timezone=${"Europe/".repeat(2_000)}`),
    ],
    [
      "a long date",
      400,
      () => get(`/v1/analytics/${link}?start_date=2026-01-01${"[a]".repeat(4_000)}`),
    ],
    ["a path of slashes", 404, () => get(`/${"/".repeat(15_000)}`)],
    [
      "a multipart body",
      415,
      () =>
        post("/v1/links", "--x\r\n".repeat(100_000), {
          "content-type": "multipart/form-data; boundary=x",
        }),
    ],
    ["the largest image", 200, () => get(`/v1/links/${link}/qr?format=png&size=2048`)],
  ];

  test.each(attacks)(
    "with %s gets its documented status without delaying other clients",
    async (_name, status, attack) => {
      const { response, delayMs } = await measureAddedDelay(attack);
      expect(response.status).toBe(status);
      expect(delayMs).toBeLessThan(ADDED_DELAY_MS_MAX);
    },
  );

  test("with a body that its route does not use is handled without reading it, authenticated or not", async () => {
    const unread = { body: "{", headers: { "content-type": "application/json" } };
    const path = "/v1/domains/dom_none/verify";
    expect(codeOf(await call(url(path), { ...unread, key }))).toEqual([404, "not_found"]);
    expect(codeOf(await call(url(path), unread))).toEqual([401, "unauthorized"]);
    const form = { body: "x", headers: { "content-type": "multipart/form-data; boundary=y" } };
    expect(codeOf(await call(url(path), { ...form, key }))).toEqual([404, "not_found"]);
    const { dashboard_url } = stack.info();
    const signOut = await call(`${dashboard_url}/auth/sign-out`, {
      body: "{",
      headers: { ...browserHeaders(stack), cookie: "a=b;".repeat(3_500) },
    });
    expect(codeOf(signOut)).toEqual([401, "unauthorized"]);
  });

  test("for a certificate with too long a name gets 404", async () => {
    const { api_metrics_url } = stack.info();
    const host = encodeURIComponent("ü.".repeat(1_000));
    expect((await call(`${api_metrics_url}/domains/ask?domain=${host}`)).status).toBe(404);
  });
});

const create = (body: string): Promise<ApiResponse> =>
  call(url("/v1/links"), { key: stack.info().api_key, body });

describe("an ambiguous JSON body", () => {
  test.each([
    ["a member __proto__", '{"url":"https://example.com/","__proto__":{"alias":"x"}}'],
    ["a number beyond all", '{"url":"https://example.com/","expires_at":1e999}'],
    ["half of a surrogate pair", '{"url":"https://example.com/","title":"\\ud83d"}'],
    ["half of a pair in a name", '{"url":"https://example.com/","\\udc00":1}'],
    ["a direction control", '{"url":"https://example.com/","title":"\u202egpj.exe"}'],
  ])("is rejected: %s", async (_name, body) => {
    expect(codeOf(await create(body))).toEqual([400, "invalid_request"]);
  });

  test("with two members of the same name uses the last one, as JavaScript does", async () => {
    const { status, body } = await create(
      '{"url":"https://one.example/","url":"https://two.example/"}',
    );
    expect(status).toBe(201);
    expect(linkSchema.parse(body).original_url).toBe("https://two.example/");
  });
});

test.each(["constructor", "toString", "__proto__", "hasOwnProperty", "valueOf"])(
  "/docs/%s does not exist and causes no error",
  async (name) => {
    expect(codeOf(await call(`${stack.info().api_url}/docs/${name}`))).toEqual([404, "not_found"]);
  },
);

test.each([
  ["a.example\r\nHost: b.example", "more than one Host"],
  ["localhost:99999", "Host"],
  ["[::1", "Host"],
  ["xn--0", "Host"],
  ["0:0:0", "Host"],
  ["a b", "Host"],
])(
  "a request with the Host header %j is rejected by the API and the dashboard",
  async (host, message) => {
    const { api_url, dashboard_url } = stack.info();
    for (const [site, path] of [
      [api_url, "/v1/limits"],
      [api_url, "/healthz"],
      [api_url, "/nowhere"],
      [dashboard_url, "/auth/session"],
      [dashboard_url, "/api/acct_none/live/v1/links"],
      [dashboard_url, "/"],
    ] as const) {
      const head = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      const response = await sendRaw(site, head);
      expect(response, path).toStartWith("HTTP/1.1 400");
      expect(response).toContain(message);
      expect(response.toLowerCase()).toContain("x-request-id");
    }
  },
);

test("the authentication library has no public routes of its own", async () => {
  const { dashboard_url } = stack.info();
  for (const path of [
    "/api/auth/sign-in/email",
    "/api/auth/sign-up/email",
    "/auth/sign-up/email",
  ]) {
    const response = await call(`${dashboard_url}${path}`, {
      body: { email: "a@example.com", password: "whatever it is", name: "A" },
      headers: browserHeaders(stack),
    });
    expect(response.status).toBe(404);
  }
});

test("a proxy that is missing from TRUSTED_PROXIES is logged once", async () => {
  const api = await stack.startApi({ TRUSTED_PROXIES: "" });
  try {
    for (let i = 0; i < 5; i++) {
      await call(`${api.url}/v1/limits`, { headers: { "x-forwarded-for": "198.51.100.77" } });
    }
    expect(api.output().split("forwarded_for_from_untrusted_peer")).toHaveLength(2);
    expect(api.output()).not.toContain("198.51.100.77");
  } finally {
    await api.stop();
  }
});

test("responses with secrets are not cached, and their content type is not sniffed", async () => {
  const { api_url, api_key, dashboard_url } = stack.info();
  const created = await call(`${api_url}/v1/keys`, {
    key: api_key,
    body: { name: "not cached", scopes: ["links:read"] },
  });
  expect(created.status).toBe(201);
  const { id } = await createAccount(stack, "free");
  const signedIn = await trySignIn(stack, await createUser(stack, id));
  expect(signedIn.status).toBe(200);
  const rejected = await call(`${api_url}/v1/links`);
  for (const { headers } of [created, signedIn, rejected]) {
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    // Both addresses are plain http.
    expect(headers.has("strict-transport-security")).toBe(false);
  }
  expect(dashboard_url).toStartWith("http:");
  const api = await stack.startApi({ SHORT_URL: "https://sho.rt" });
  const { headers } = await call(`${api.url}/v1/limits`);
  await api.stop();
  expect(headers.get("strict-transport-security")).toBe("max-age=31536000");
});

test("an operator who adds a member is warned if the user's e-mail address is not verified", async () => {
  const { id } = await createAccount(stack, "free");
  const verified = await createUser(stack, id);
  const join = (email: string) =>
    runAdmin(stack, ["users", "join", "--email", email, "--account", id, "--json"]);
  expect((await join(verified.email)).stderr).toBe("");
  const owner = await trySignIn(stack, verified);
  const cookie = owner.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  const { dashboard_url } = stack.info();
  const invited = await call(`${dashboard_url}/api/${id}/invitations`, {
    body: { email: "somebody.else@example.com", role: "member" },
    headers: { ...browserHeaders(stack), cookie },
  });
  const { token } = invited.body as { token: string };
  const accept = (password: string) =>
    call(`${dashboard_url}/auth/invitations/${token}/accept`, {
      body: { name: "Somebody", password },
      headers: browserHeaders(stack),
    });
  expect(codeOf(await accept("password12"))).toEqual([400, "invalid_request"]);
  expect((await accept("tomato-harbor-lantern")).status).toBe(200);
  const joined = await join("somebody.else@example.com");
  expect(joined.code).toBe(0);
  expect(joined.stderr).toContain("Warning: nobody has verified that somebody.else@example.com");
  expect(JSON.parse(joined.stdout)).toMatchObject({ email_verified: false });
  const users = await admin<{ email: string; email_verified: boolean }[]>(stack, ["users", "list"]);
  expect(users.find(({ email }) => email === verified.email)?.email_verified).toBe(true);
});

const manyFields = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`field${i}`, 1]));

const manyLinks = (count: number, link: object) => Array.from({ length: count }, () => link);

const urlWithLabels = (count: number): string => `https://${"ü.".repeat(count)}example/`;
