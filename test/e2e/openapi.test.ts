/** Goal: the OpenAPI document is correct and complete, and its page needs no other site. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import formats from "ajv-formats";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as z from "zod";

import { admin, createAccount, createKey, type NewAccount } from "../harness/admin.ts";
import { type ApiResponse, call } from "../harness/api.ts";
import { type Dns, startDns } from "../harness/dns.ts";
import { PROJECT_DIR, type Stack, startStack } from "../harness/stack.ts";

const documentSchema = z.object({
  openapi: z.string(),
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        operationId: z.string(),
        summary: z.string(),
        parameters: z.array(z.object({ name: z.string(), in: z.string() })).optional(),
        requestBody: z.unknown().optional(),
        responses: z.record(
          z.string(),
          z.object({
            headers: z.record(z.string(), z.unknown()),
            content: z.record(z.string(), z.unknown()),
          }),
        ),
      }),
    ),
  ),
});

type DocumentedOperation = {
  path: string;
  method: string;
  operation: z.output<typeof documentSchema>["paths"][string][string];
};

/** Statuses that only a failure of the service or a store causes. */
const FAILURES = new Set(["500", "503"]);

/** One request more than the limit of an address without a key. */
const UNAUTHENTICATED_MAX = 61;

const HEADERS = ["X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining"];

const UNLIMITED = {
  minute: 100_000,
  burst: 100_000,
  endpoints: { "POST /v1/links": 100_000, "POST /v1/domains": 100_000 },
};

let dns: Dns;
let stack: Stack;
let account: NewAccount;
let exhausted: NewAccount;
let document: z.output<typeof documentSchema>;
let ajv: Ajv2020;

beforeAll(async () => {
  dns = await startDns();
  stack = await startStack({ env: { DNS_SERVERS: dns.address } });
  account = await createAccount(stack, "enterprise", UNLIMITED);
  exhausted = await createAccount(stack, "enterprise", { minute: 1, burst: 1 });
  await call(api("/v1/links"), { key: exhausted.key });
  const { body } = await call(api("/v1/openapi.json"));
  document = documentSchema.parse(body);
  ajv = new Ajv2020({ strict: false });
  formats.default(ajv);
  ajv.addSchema({ $id: "openapi", ...z.record(z.string(), z.unknown()).parse(body) });
});
afterAll(async () => {
  await stack[Symbol.asyncDispose]();
  await dns[Symbol.asyncDispose]();
});

const api = (path: string) => `${stack.info().api_url}${path}`;

const listOperations = (): DocumentedOperation[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );

/** Throws unless the response is documented for its operation and matches its schema. */
function expectDocumented(
  { path, method, operation }: DocumentedOperation,
  { status, headers, body }: ApiResponse,
): void {
  const name = `${operation.operationId} ${status}`;
  const documented = operation.responses[String(status)];
  if (documented === undefined)
    throw new Error(`${name} is not documented: ${JSON.stringify(body)}`);
  const type = headers.get("content-type")?.split(";")[0] ?? "none";
  expect(Object.keys(documented.content), name).toContain(type);
  for (const header of HEADERS) {
    expect(headers.has(header), `${name} ${header}`).toBe(true);
    expect(Object.keys(documented.headers)).toContain(header);
  }
  if (type !== "application/json") return;
  const pointer = ["paths", path, method, "responses", String(status), "content", type, "schema"]
    .map((part) => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1")))
    .join("/");
  const validate = ajv.compile({ $ref: `openapi#/${pointer}` });
  expect(
    validate(body),
    `${name}: ${JSON.stringify(validate.errors)} ${JSON.stringify(body)}`,
  ).toBe(true);
}

/** Creates a valid body for an operation, different each time. */
function createValidBody(operationId: string, link: string): unknown {
  const unique = crypto.randomUUID();
  const bodies: Record<string, unknown> = {
    createLink: { url: `https://example.com/${unique}` },
    createLinks: { links: [{ url: `https://example.com/${unique}` }, { url: "nonsense" }] },
    updateLink: { title: unique, expires_at: "2099-01-01T00:00:00Z" },
    getBulkAnalytics: { link_ids: [link, "link_none"] },
    createDomain: { domain: `${unique}.example.com` },
    createKey: { name: unique, scopes: ["links:read"] },
    rotateKey: { grace_seconds: Math.floor(Math.random() * 1_000) },
  };
  return bodies[operationId];
}

const idSchema = z.object({ id: z.string() });

async function create(path: string, body: unknown, key = account.key): Promise<string> {
  return idSchema.parse((await call(api(path), { key, body })).body).id;
}

/** Creates a new resource for the path of an operation. */
async function createTarget(path: string): Promise<string> {
  if (path.startsWith("/v1/keys"))
    return await create("/v1/keys", createValidBody("createKey", ""));
  if (path.startsWith("/v1/domains"))
    return await create("/v1/domains", createValidBody("createDomain", ""));
  return await create("/v1/links", createValidBody("createLink", ""));
}

/** Adds a domain and verifies it. */
async function addVerifiedDomain(domain: string, key: string): Promise<string> {
  const { body } = await call(api("/v1/domains"), { key, body: { domain } });
  const { id, verification } = idSchema
    .extend({ verification: z.object({ name: z.string(), value: z.string() }) })
    .parse(body);
  dns.set(verification.name, [verification.value]);
  await call(api(`/v1/domains/${id}/verify`), { key, method: "POST" });
  return id;
}

/** Creates domains that cause an operation's conflict. */
async function createConflicts(): Promise<Record<string, string>> {
  const domain = "obstacle.example.com";
  const { body } = await call(api("/v1/domains"), { key: account.key, body: { domain } });
  const late = z
    .object({ id: z.string(), verification: z.object({ name: z.string(), value: z.string() }) })
    .parse(body);
  const rival = await createAccount(stack, "enterprise", UNLIMITED);
  const used = await addVerifiedDomain(domain, rival.key);
  dns.set(late.verification.name, [late.verification.value]);
  const busy = await addVerifiedDomain("busy.example.com", account.key);
  await create("/v1/links", { url: "https://example.com/", domain: "busy.example.com" });
  expect(used).not.toBe(busy);
  return { verifyDomain: late.id, deleteDomain: busy };
}

type Attempt = {
  key?: string;
  target: string;
  query?: string;
  body?: unknown;
  headers?: Record<string, string>;
};

/** Lists requests that cause every response of an operation; the last one succeeds. */
function listAttempts(
  { operation }: DocumentedOperation,
  target: string,
  keys: { narrow: string[]; exhausted: string },
  conflict: string | undefined,
): Attempt[] {
  const { operationId, parameters = [], requestBody } = operation;
  const { key } = account;
  const valid = () => ({ key, target, body: createValidBody(operationId, target) });
  const attempts: Attempt[] = [
    { ...valid(), key: "" },
    ...keys.narrow.map((narrow) => ({ ...valid(), key: narrow })),
    { ...valid(), key: keys.exhausted },
    { ...valid(), target: "none" },
    { ...valid(), query: "?page=0&period=x&size=x" },
  ];
  if (requestBody !== undefined) {
    attempts.push(
      { key, target, body: { unknown: true } },
      { key, target, body: `"${"x".repeat(1024 * 1024)}"` },
      { ...valid(), headers: { "content-type": "text/plain" } },
    );
  }
  if (parameters.some(({ name }) => name === "Idempotency-Key")) {
    const headers = { "idempotency-key": crypto.randomUUID() };
    attempts.push({ ...valid(), headers }, { ...valid(), headers });
  }
  if (conflict !== undefined) attempts.push({ ...valid(), target: conflict });
  return attempts;
}

describe("the OpenAPI document", () => {
  test("passes a linter", async () => {
    const dir = mkdtempSync(join(tmpdir(), "shorthop-openapi-"));
    const path = join(dir, "openapi.json");
    writeFileSync(path, JSON.stringify((await call(api("/v1/openapi.json"))).body));
    const linter = Bun.spawn(
      ["node", join(PROJECT_DIR, "node_modules/@redocly/cli/bin/cli.js"), "lint", path],
      {
        cwd: dir,
        stdout: "pipe",
        stderr: "pipe",
        env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
      },
    );
    const problems = await new Response(linter.stderr).text();
    expect(await linter.exited, problems).toBe(0);
    expect(document.openapi).toStartWith("3.1");
    rmSync(dir, { recursive: true });
  });

  test("lists existing paths with the methods they accept", async () => {
    for (const { path, method } of listOperations()) {
      const { status, headers } = await call(api(path.replaceAll(/\{\w+\}/g, "x")), {
        method: "PUT",
        headers: { "x-forwarded-for": "203.0.113.9" },
      });
      expect([path, status]).toEqual([path, 405]);
      expect(headers.get("allow")?.split(", ")).toContain(method.toUpperCase());
    }
  });

  test("is complete: every documented response of every operation occurs, with the documented schema", async () => {
    const revoked = await createKey(stack, account.id, "links:read");
    await admin(stack, ["keys", "revoke", revoked.id]);
    const narrow = [
      revoked,
      await createKey(stack, account.id, "links:read"),
      await createKey(stack, account.id, "analytics:read"),
    ].map(({ key }) => key);
    const conflicts = await createConflicts();
    const missing: string[] = [];
    for (const [i, entry] of listOperations().entries()) {
      const { path, method, operation } = entry;
      const seen = new Set<string>();
      const send = async ({ key, target, query = "", body, headers }: Attempt) => {
        const response = await call(api(path.replace(/\{\w+\}/, target) + query), {
          method: method.toUpperCase(),
          ...(key === "" ? {} : { key }),
          ...(body === undefined ? {} : { body }),
          // Unauthenticated requests are limited by address, so each operation uses its own.
          headers: { "x-forwarded-for": `198.51.100.${i}`, ...headers },
        });
        expectDocumented(entry, response);
        seen.add(String(response.status));
      };
      const keys = { narrow, exhausted: exhausted.key };
      const conflict = conflicts[operation.operationId];
      const target = await createTarget(path);
      for (const attempt of listAttempts(entry, target, keys, conflict)) await send(attempt);
      const fresh = await createTarget(path);
      await send({
        key: account.key,
        target: fresh,
        body: createValidBody(operation.operationId, fresh),
      });
      // Operations that consume no limit are limited only for unauthenticated clients.
      for (let n = 0; !seen.has("429") && n < UNAUTHENTICATED_MAX; n++)
        await send({ key: "", target });
      missing.push(
        ...Object.keys(operation.responses)
          .filter((status) => !seen.has(status) && !FAILURES.has(status))
          .map((status) => `${operation.operationId} ${status}`),
      );
    }
    expect(missing).toEqual([]);
  });
});

describe("the page at /docs", () => {
  test("loads everything from the service itself", async () => {
    const page = await call(api("/docs"));
    expect(page.status).toBe(200);
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    const html = z.string().parse(page.body);
    const assets = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path ?? "");
    expect(
      assets.filter((path) => !path.startsWith("/docs/") && !path.startsWith("data:")),
    ).toEqual([]);
    for (const path of assets.filter((path) => path.startsWith("/"))) {
      const { status, body } = await call(api(path));
      expect([path, status]).toEqual([path, 200]);
      expect(z.string().parse(body).length).toBeGreaterThan(50);
    }
    expect((await call(api("/docs/../package.json"))).status).toBe(404);
  });
});
