/** Goal: the OpenAPI document is correct and complete, and its page needs no other site. */
import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import formats from "ajv-formats";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as z from "zod";

import { takeLinkDown } from "../../api/links/takedown.ts";
import { DEFAULT_DOMAIN } from "../../shared/contracts/link-record.ts";
import { encodeId, newUuid } from "../../shared/ids.ts";
import { createAccount, createKey, revokeKey, UNLIMITED } from "../harness/admin.ts";
import { ApiInProcess } from "../harness/api-in-process.ts";
import { ApiResources, type Resources } from "../harness/api-resources.ts";
import { type ApiResponse, call } from "../harness/api.ts";
import { chromiumPath, openBrowser } from "../harness/browser.ts";
import { Dns } from "../harness/dns.ts";
import { forFile } from "../harness/for-file.ts";
import { OwnLinks } from "../harness/own-links.ts";
import { LONG, longTest } from "../harness/property-runs.ts";
import { PROJECT_DIR } from "../harness/stack.ts";

type DocumentedSchema = {
  $ref?: string;
  type?: string | string[];
  description?: string;
  examples?: unknown[];
  properties?: Record<string, DocumentedSchema>;
  required?: string[];
  items?: DocumentedSchema;
  anyOf?: DocumentedSchema[];
  oneOf?: DocumentedSchema[];
};

/** A schema may be anything that ajv understands. */
const anySchema = z.custom<DocumentedSchema>((value) => typeof value === "object");

const mediaType = z.object({
  schema: z.unknown(),
  examples: z.record(z.string(), z.object({ summary: z.string(), value: z.unknown() })).default({}),
});

const responseSchema = z.object({
  headers: z.record(z.string(), z.unknown()),
  content: z.record(z.string(), mediaType).default({}),
});

const reference = z.strictObject({ $ref: z.string(), description: z.string() });

const documentSchema = z.object({
  openapi: z.string(),
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        operationId: z.string(),
        summary: z.string(),
        parameters: z
          .array(
            z.object({
              name: z.string(),
              in: z.string(),
              description: z.string().optional(),
              schema: anySchema,
            }),
          )
          .optional(),
        requestBody: z.unknown().optional(),
        responses: z.record(z.string(), z.union([reference, responseSchema])),
      }),
    ),
  ),
  components: z.object({
    schemas: z.record(z.string(), anySchema),
    responses: z.record(z.string(), responseSchema),
  }),
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

/** The alias and the external id of a link of the account. */
const KNOWN = "known-link";

/** Queries of operations that require one. */
const REQUIRED_QUERIES: Readonly<Record<string, string>> = {
  getLinkBreakdown: "?by=country",
  getAccountBreakdown: "?by=country",
};

const dns = await forFile(Dns.start());
const stack = await forFile(
  ApiInProcess.start({ env: { DNS_SERVERS: dns.address }, clickhouse: true }),
);
const api = (path: string) => `${stack.info().api_url}${path}`;
const account = await createAccount(stack, "enterprise", UNLIMITED);
const resources = new ApiResources(stack, dns);
const known = { url: "https://example.com/", alias: KNOWN, external_id: KNOWN };
await call(api("/v1/links"), { key: account.key, body: known });
const { event: testEvent } = await resources.create(account.key, ":event");
const exhausted = await createAccount(stack, "enterprise", { minute: 1, burst: 1 });
await call(api("/v1/links"), { key: exhausted.key });
const { body: served } = await call(api("/v1/openapi.json"));
const document = documentSchema.parse(served);
const ajv = new Ajv2020({ strict: false });
formats.default(ajv);
ajv.addSchema({ $id: "openapi", ...z.record(z.string(), z.unknown()).parse(served) });

const listOperations = (): DocumentedOperation[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );

/** Finds the documented response for a status, also a shared one, and the JSON pointer to it. */
function findResponse({ path, method, operation }: DocumentedOperation, status: number) {
  const documented = operation.responses[String(status)];
  if (documented === undefined || !("$ref" in documented)) {
    return { documented, at: ["paths", path, method, "responses", String(status)] };
  }
  const name = documented.$ref.split("/").at(-1) ?? "";
  return {
    documented: document.components.responses[name],
    at: ["components", "responses", name],
  };
}

/** Throws unless the response is documented for its operation and matches its schema. */
function expectDocumented(
  entry: DocumentedOperation,
  { status, headers, body }: ApiResponse,
): void {
  const name = `${entry.operation.operationId} ${status}`;
  const { documented, at } = findResponse(entry, status);
  if (documented === undefined)
    throw new Error(`${name} is not documented: ${JSON.stringify(body)}`);
  for (const header of HEADERS) {
    expect(headers.has(header), `${name} ${header}`).toBe(true);
    expect(Object.keys(documented.headers)).toContain(header);
  }
  if (status === 304) return;
  const type = headers.get("content-type")?.split(";")[0] ?? "none";
  expect(Object.keys(documented.content), name).toContain(type);
  if (type !== "application/json") return;
  if (status === 429) expect(Object.keys(documented.headers)).toContain("Retry-After");
  const pointer = [...at, "content", type, "schema"]
    .map((part) => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1")))
    .join("/");
  const validate = ajv.getSchema(`openapi#/${pointer}`);
  if (validate === undefined) throw new Error(`${name} has no schema.`);
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
    checkLinks: { links: [{ url: `https://example.com/${unique}` }, { url: "nonsense" }] },
    updateLinks: { links: [{ id: link, title: unique }, { id: "link_none" }, 7] },
    deleteLinks: { ids: [link, "link_none"] },
    updateTag: { name: unique, color: "red" },
    mergeTags: { tags: ["old", "older"], into: "new" },
    upsertLink: { url: `https://example.com/${unique}` },
    updateLinkByExternalId: { title: unique },
    updateLink: {
      title: unique,
      expires_at: "2099-01-01T00:00:00Z",
      starts_at: "2020-01-01T00:00:00Z",
      expired_url: "https://example.com/over",
      rules: [
        { url: "https://example.com/a", conditions: [{ type: "ip", in: ["203.0.113.0/24"] }] },
        { url: "https://example.com/b", conditions: [{ type: "query", name: "b", not: true }] },
      ],
    },
    explainLink: { ip: "203.0.113.7", country: "DE" },
    getBulkAnalytics: { link_ids: [link, "link_none"] },
    createDomain: { domain: `${unique}.example.com` },
    updateDomain: { case_sensitive: true },
    createApiKey: { name: unique, scopes: ["links:read"] },
    createShare: { name: unique },
    updateShare: { name: unique },
    updateBranding: { name: unique, color: "#1d4ed8" },
    saveView: { query: `utm_campaign=${unique}` },
    saveLinkFilter: { query: `utm_campaign=${unique}` },
    saveUtmTemplate: { query: `utm_campaign=${unique}` },
    createWebhook: { url: `https://hooks.example.com/${unique}`, events: ["*"] },
    updateWebhook: { description: unique },
    replayWebhook: { starting_after: testEvent },
    createReport: { name: unique, period: "weekly" },
    updateReport: { name: unique },
    unlockSharedStatistics: { password: PASSWORD },
    rotateApiKey: { grace_seconds: Math.floor(Math.random() * 1_000) },
  };
  return bodies[operationId];
}

/** Of every share. */
const PASSWORD = "correct horse";

const idSchema = z.object({ id: z.string() });

async function create(path: string, body: unknown, key = account.key): Promise<string> {
  return idSchema.parse((await call(api(path), { key, body })).body).id;
}

/** Puts the ids of a target, joined by slashes, in place of the parameters of a path. */
function fillPath(path: string, target: string): string {
  const ids = target.split("/");
  return path.replaceAll(/\{\w+\}/g, () => ids.shift() ?? target);
}

/** What the parameters of paths stand for, by the beginning of the path. */
const TARGETS: [RegExp, (keyof Resources)[]][] = [
  [/^\/v1\/keys/, ["key"]],
  [/^\/v1\/shares/, ["share"]],
  [/^\/v1\/tags/, ["tag"]],
  [/\{delivery\}/, ["webhook", "delivery"]],
  [/^\/v1\/webhooks/, ["webhook"]],
  [/^\/v1\/reports/, ["report"]],
  [/^\/v1\/(?:views|link-filters|utm-templates)/, ["view"]],
  [/^\/v1\/domains/, ["domain"]],
  [/\{external_id\}$/, ["external"]],
  [/^/, ["link"]],
];

/** Creates a new resource for the path of an operation. */
async function createTarget(path: string): Promise<string> {
  if (path.startsWith("/v1/shared/")) {
    const body = path.endsWith("/access") ? { password: PASSWORD } : {};
    const made = await call(api("/v1/shares"), { key: account.key, body });
    return z.object({ token: z.string() }).parse(made.body).token;
  }
  const [, names = []] = TARGETS.find(([pattern]) => pattern.test(path)) ?? [];
  const made = await resources.create(account.key, names.map((name) => `:${name}`).join());
  return names.map((name) => made[name]).join("/");
}

/** Adds a domain and verifies it. */
const addVerifiedDomain = async (domain: string, key: string): Promise<string> =>
  (await new OwnLinks(stack.info(), { id: "", key }).addDomain(dns, domain)).id;

/** Creates domains, and a share with a password, that cause an operation's conflict. */
async function createConflicts(): Promise<Record<string, string>> {
  const domain = "obstacle.example.com";
  const { body } = await call(api("/v1/domains"), { key: account.key, body: { domain } });
  const late = z
    .object({ id: z.string(), verification: z.object({ name: z.string(), value: z.string() }) })
    .parse(body);
  const rival = await createAccount(stack, "enterprise", UNLIMITED);
  const used = await addVerifiedDomain(domain, rival.key);
  dns.set(late.verification.name, [late.verification.value]);
  const busy = await addVerifiedDomain("in-use.example.com", account.key);
  await create("/v1/links", { url: "https://example.com/", domain: "in-use.example.com" });
  expect(used).not.toBe(busy);
  for (const alias of ["Same", "same"])
    await create("/v1/links", { url: "https://example.com/", domain: "in-use.example.com", alias });
  const held = { url: "https://example.com/", alias: "held", external_id: "held" };
  const deleteLink = await create("/v1/links", held);
  await takeLinkDown(stack.database.sql, { domain: DEFAULT_DOMAIN, alias: "held" }, true);
  const { body: locked } = await call(api("/v1/shares"), {
    key: account.key,
    body: { password: PASSWORD },
  });
  const { token } = z.object({ token: z.string() }).parse(locked);
  await create("/v1/links", { url: "https://example.com/", tags: ["renamed-tag", "other-tag"] });
  const paused = await resources.create(account.key, ":webhook");
  await call(api(`/v1/webhooks/${paused.webhook}`), {
    key: account.key,
    method: "PATCH",
    body: { status: "paused" },
  });
  return {
    testWebhook: paused.webhook,
    rotateWebhookSecret: paused.webhook,
    rotateShare: await create("/v1/shares", {}),
    retryWebhookDelivery: `${paused.webhook}/${paused.delivery}`,
    updateTag: "renamed-tag",
    verifyDomain: late.id,
    deleteDomain: busy,
    updateDomain: busy,
    deleteLink,
    upsertLink: "held",
    updateLinkByExternalId: "held",
    deleteLinkByExternalId: "held",
    getSharedStatistics: token,
  };
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
  const query = REQUIRED_QUERIES[operationId] ?? "";
  const valid = () => ({ key, target, query, body: createValidBody(operationId, target) });
  const attempts: Attempt[] = [
    { ...valid(), key: "" },
    ...keys.narrow.map((narrow) => ({ ...valid(), key: narrow })),
    { ...valid(), key: keys.exhausted },
    // An upsert creates what another operation must not find.
    { ...valid(), target: `none-${operationId}` },
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
    // Without a body, only another path makes it another request.
    if (/^rotate(?:WebhookSecret|Share)$/.test(operationId) && conflict !== undefined)
      attempts.push({ ...valid(), headers, target: conflict });
  }
  if (parameters.some(({ name }) => name === "If-Match"))
    attempts.push({ ...valid(), headers: { "if-match": '"0"' } });
  if (parameters.some(({ name }) => name === "If-None-Match"))
    attempts.push({ ...valid(), headers: { "if-none-match": "*" } });
  if (parameters.some(({ name }) => name === "link_id"))
    attempts.push({ ...valid(), query: `${query === "" ? "?" : `${query}&`}link_id=link_none` });
  if (operationId === "lookUpLink")
    for (const headers of [{}, { "if-none-match": "*" }])
      for (const alias of ["none", KNOWN])
        attempts.push({ key, target, query: `?alias=${alias}`, headers });
  if (operationId === "upsertLink")
    attempts.push({ ...valid(), target: crypto.randomUUID() }, valid(), valid());
  if (operationId === "updateLink") attempts.push({ key, target, body: { external_id: KNOWN } });
  if (operationId === "listEvents")
    attempts.push({ key, target, query: `?starting_after=${encodeId("event", newUuid())}` });
  if (operationId === "createShare") attempts.push({ key, target, body: { link_id: "link_none" } });
  if (operationId === "unlockSharedStatistics")
    attempts.push({ key, target, body: { password: "wrong horse" } });
  const conflicting: Record<string, unknown> = {
    updateDomain: { case_sensitive: false },
    updateTag: { name: "other-tag" },
    upsertLink: { url: "https://example.com/", alias: "renamed" },
    updateLinkByExternalId: { alias: "renamed" },
  };
  if (conflict !== undefined)
    attempts.push({ ...valid(), body: conflicting[operationId] ?? valid().body, target: conflict });
  return attempts;
}

const jsonBody = z.object({
  content: z.object({ "application/json": z.object({ schema: z.object({ $ref: z.string() }) }) }),
});

/** Null for each field of an operation's body that may be left out. */
function listNulls({ requestBody }: DocumentedOperation["operation"]): Record<string, null> {
  const { $ref } = jsonBody.parse(requestBody).content["application/json"].schema;
  const { properties = {}, required = [] } =
    document.components.schemas[$ref.split("/").at(-1) ?? ""] ?? {};
  const names = Object.keys(properties).filter((name) => !required.includes(name));
  return Object.fromEntries(names.map((name) => [name, null]));
}

/**
 * Lists the fields of a schema, and of schemas inside of it, without a description or a valid
 * example.
 */
function findUndescribed(place: string, schema: DocumentedSchema): string[] {
  const fields = Object.entries(schema.properties ?? {}).flatMap(([field, child]) => [
    ...(child.description === undefined ? [`${place}.${field}: no description`] : []),
    ...findBadExamples(`${place}.${field}`, child),
    ...findUndescribed(`${place}.${field}`, child),
  ]);
  const parts = [schema.items, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  return [
    ...fields,
    ...parts.flatMap((part) => (part === undefined ? [] : findUndescribed(place, part))),
  ];
}

/** A field whose value is an object, or a list of objects, has the examples of their fields. */
function findBadExamples(place: string, schema: DocumentedSchema): string[] {
  const { type, items, examples = [] } = schema;
  const isObject = schema.$ref !== undefined || type === "object";
  if (isObject || (items !== undefined && items.type !== "string")) return [];
  if (examples.length === 0) return [`${place}: no example`];
  const absolute = JSON.stringify(schema).replaceAll('"#/components/', '"openapi#/components/');
  const validate = ajv.compile(z.record(z.string(), z.unknown()).parse(JSON.parse(absolute)));
  return examples
    .filter((example) => !validate(example))
    .map((example) => `${place}: invalid ${JSON.stringify(example)}`);
}

describe("the OpenAPI document", () => {
  longTest("passes a linter", async () => {
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

  test("describes every field, parameter and error in words, with an example that is valid", () => {
    const problems: string[] = [];
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      if (schema.description === undefined) problems.push(`${name}: no description`);
      problems.push(...findUndescribed(name, schema));
    }
    for (const { operation } of listOperations()) {
      for (const { name, description, schema } of operation.parameters ?? []) {
        const place = `${operation.operationId} ?${name}`;
        if (description === undefined) problems.push(`${place}: no description`);
        problems.push(...findBadExamples(place, schema));
      }
    }
    for (const [name, { content }] of Object.entries(document.components.responses)) {
      const { examples = {} } = content["application/json"] ?? {};
      if (Object.keys(examples).length === 0) problems.push(`${name}: no example`);
      const validate = ajv.compile({ $ref: "openapi#/components/schemas/ApiError" });
      for (const [code, { summary, value }] of Object.entries(examples)) {
        if (summary === "" || !validate(value)) problems.push(`${name} ${code}`);
      }
    }
    expect(problems).toEqual([]);
  });

  test("names its schemas, and leaves those of responses open for new fields", () => {
    const unnamed = listOperations().flatMap(({ operation }) =>
      Object.entries(operation.responses).flatMap(([status, response]) => {
        const json = "content" in response ? response.content["application/json"] : undefined;
        const schema = z.object({ $ref: z.string() }).safeParse(json?.schema);
        return json === undefined || schema.success ? [] : [`${operation.operationId} ${status}`];
      }),
    );
    expect(unnamed).toEqual([]);
    const requested = new Set<string>();
    const visit = (schema: unknown): void => {
      for (const [, name = ""] of JSON.stringify(schema ?? null).matchAll(/schemas\/(\w+)"/g)) {
        if (requested.has(name)) continue;
        requested.add(name);
        visit(document.components.schemas[name]);
      }
    };
    for (const { operation } of listOperations()) visit(operation.requestBody);
    const closed = Object.entries(document.components.schemas)
      .filter(([, schema]) => JSON.stringify(schema).includes('"additionalProperties":false'))
      .map(([name]) => name)
      .filter((name) => !requested.has(name));
    expect(closed).toEqual([]);
  });

  test("takes null in a body for every field that may be left out, but in a PATCH", async () => {
    for (const { path, method, operation } of listOperations()) {
      if (operation.requestBody === undefined || method === "patch") continue;
      const { operationId } = operation;
      const target = await createTarget(path);
      const { status, body } = await call(api(fillPath(path, target)), {
        method: method.toUpperCase(),
        key: account.key,
        body: {
          ...listNulls(operation),
          ...z.looseObject({}).parse(createValidBody(operationId, target)),
        },
      });
      expect(status, `${operationId} ${JSON.stringify(body)}`).toBeLessThan(300);
    }
  });

  test("lists existing paths with the methods they accept", async () => {
    for (const [i, { path, method }] of listOperations().entries()) {
      const methods = Object.keys(document.paths[path] ?? {});
      const { status, headers } = await call(api(path.replaceAll(/\{\w+\}/g, "x")), {
        method: methods.includes("put") ? "POST" : "PUT",
        // Each address has 60 such requests a minute.
        headers: { "x-forwarded-for": `203.0.113.${i}` },
      });
      expect([path, status]).toEqual([path, 405]);
      expect(headers.get("allow")?.split(", ")).toContain(method.toUpperCase());
    }
  });

  test("is complete: every documented response of every operation occurs, with the documented schema", async () => {
    const revoked = await createKey(stack, account.id, "links:read");
    await revokeKey(stack, revoked.id);
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
        const response = await call(api(fillPath(path, target) + query), {
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
        query: REQUIRED_QUERIES[operation.operationId] ?? "",
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
    expect(served).toMatchObject({ servers: [{ url: stack.info().api_url }] });
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

  test.skipIf(!LONG || chromiumPath === undefined)(
    "sends requests from its examples with a key",
    async () => {
      await using browser = await openBrowser();
      const page = await browser.newPage();
      const failures: string[] = [];
      page.on("pageerror", (error) => failures.push(error.message));
      await page.goto(api("/docs"));
      await page.getByRole("button", { name: "Authorize" }).first().click();
      await page.getByLabel("auth-bearer-value").fill(account.key);
      await page.getByRole("button", { name: "Apply credentials" }).click();
      await page.getByRole("button", { name: "Close" }).click();

      /** Opens an operation, sends what the page has filled in, and returns status and body. */
      const execute = async (operationId: string, fill: Record<string, string> = {}) => {
        const operation = page.locator(`.opblock[id$="-${operationId}"]`);
        await operation.locator(".opblock-summary-control").click();
        await operation.getByRole("button", { name: "Try it out" }).click();
        for (const [name, value] of Object.entries(fill)) {
          await operation.locator(`tr[data-param-name="${name}"] input`).fill(value);
        }
        await operation.getByRole("button", { name: "Execute" }).click();
        const live = operation.locator(".live-responses-table .response").first();
        const status = await live.locator(".response-col_status").innerText();
        const body: unknown = JSON.parse(await live.locator("pre.microlight").first().innerText());
        return { status: status.trim(), body };
      };

      const created = await execute("createLink");
      expect(created).toMatchObject({ status: "201", body: { alias: "spring-sale" } });
      const { id } = idSchema.parse(created.body);
      const { status, body } = await execute("listLinks");
      const list = z.object({ data: z.array(idSchema) }).parse(body);
      expect([status, list.data[0]?.id]).toEqual(["200", id]);
      expect(await execute("getLinkAnalytics", { link_id: id })).toMatchObject({ status: "200" });
      expect(failures).toEqual([]);
    },
  );
});
