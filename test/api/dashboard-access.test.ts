/**
 * Goal: signed-in users may do what their role allows in their own accounts, and nobody else can
 * act in their name. Method: every endpoint called by every kind of caller, and attacks on
 * sessions.
 */
import { describe, expect, test } from "bun:test";

import * as z from "zod";

import { WINDOWS } from "../../shared/budgets.ts";
import { ROLES } from "../../shared/contracts/users.ts";
import { decodeId } from "../../shared/ids.ts";
import { admin, createAccount, runAdmin } from "../harness/admin.ts";
import { ApiInProcess } from "../harness/api-in-process.ts";
import { type ApiResponse, call, codeOf, errorSchema } from "../harness/api.ts";
import {
  browserHeaders,
  createUser,
  readSessionCookie,
  Session,
  signIn,
  type TestUser,
  trySignIn,
} from "../harness/dashboard.ts";
import { forFile } from "../harness/for-file.ts";

const stack = await forFile(ApiInProcess.start({ clickhouse: true }));
const account = await createAccount(stack, "pro");
const other = await createAccount(stack, "pro");

const url = (path: string) => `${stack.info().dashboard_url}${path}`;
const { sql } = stack.database;

/** A new address per request, so that limits used up by other tests do not apply. */
let addresses = 0;
const fromElsewhere = () => ({ "x-forwarded-for": `198.51.100.${++addresses}` });

const VIEWER = "links:read analytics:read domains:read shares:read reports:read";
const MEMBER = `${VIEWER} links:write links:delete shares:write reports:write domains:write webhooks:read members:read`;
const OWNER = `${MEMBER} keys:read keys:write events:read webhooks:write members:write`;

const SCOPES_OF_ROLE: Record<string, readonly string[]> = {
  viewer: VIEWER.split(" "),
  member: MEMBER.split(" "),
  owner: OWNER.split(" "),
};

type Endpoint = { method: string; path: string; scope: string | undefined };

/** Lists every operation of /v1 from its OpenAPI document, and the dashboard's other endpoints. */
async function listEndpoints(): Promise<Endpoint[]> {
  const document = z
    .object({
      paths: z.record(
        z.string(),
        z.record(z.string(), z.object({ description: z.string().default("") })),
      ),
    })
    .parse((await call(`${stack.info().api_url}/v1/openapi.json`)).body);
  // Shared statistics are for everybody, and not part of an account.
  const paths = Object.entries(document.paths).filter(([path]) => !path.startsWith("/v1/shared/"));
  const apiEndpoints = paths.flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { description }]) => ({
      method: method.toUpperCase(),
      path: `/live${path.replaceAll(/\{\w+\}/g, "link_01k9z3v6x7e8w9r0t1y2u3i4o5")}`,
      scope: /Requires the scope `([a-z:]+)`/.exec(description)?.[1],
    })),
  );
  return [
    ...apiEndpoints,
    { method: "GET", path: "/members", scope: "members:read" },
    { method: "PATCH", path: "/members/user_none", scope: "members:write" },
    { method: "DELETE", path: "/members/user_none", scope: "members:write" },
    { method: "POST", path: "/members/user_none/password-resets", scope: "members:write" },
    { method: "PUT", path: "/members/second-factor", scope: "members:write" },
    { method: "POST", path: "/invitations", scope: "members:write" },
    { method: "DELETE", path: "/invitations/inv_none", scope: "members:write" },
  ];
}

describe("every request of the dashboard", () => {
  test("is allowed only for roles with its permission", async () => {
    const endpoints = await listEndpoints();
    expect(endpoints.length).toBeGreaterThan(25);
    // Only the limits are for every key.
    expect(endpoints.filter(({ scope }) => scope === undefined)).toHaveLength(1);
    const sessions = new Map<string, Session>();
    for (const role of ROLES) {
      sessions.set(role, await signIn(stack, await createUser(stack, account.id, role)));
    }
    const stranger = await signIn(stack, await createUser(stack, other.id));
    const wrong: string[] = [];
    const record = (caller: string, { method, path }: Endpoint, response: ApiResponse) =>
      wrong.push(
        `${caller}: ${method} ${path} -> ${response.status} ${JSON.stringify(response.body)}`,
      );

    for (const endpoint of endpoints) {
      const { method, path, scope } = endpoint;
      const send = (session: Session, headers = {}) =>
        session.send(`/api/${account.id}${path}`, {
          method,
          headers,
          ...(["POST", "PATCH", "PUT"].includes(method) ? { body: {} } : {}),
        });
      for (const [role, session] of sessions) {
        const response = await send(session);
        const isAllowed = scope === undefined || SCOPES_OF_ROLE[role]?.includes(scope) === true;
        if (isAllowed ? [401, 403].includes(response.status) : response.status !== 403) {
          record(role, endpoint, response);
        }
      }
      const foreign = await send(stranger);
      if (foreign.status !== 404) record("of another account", endpoint, foreign);
      const nobody = await send(new Session(stack, ""), fromElsewhere());
      if (nobody.status !== 401) record("not signed in", endpoint, nobody);
      if (method === "GET") continue;
      const owner = sessions.get("owner");
      if (owner === undefined) throw new Error("There is no owner.");
      const crossSite = await send(owner, {
        origin: "https://evil.example",
        "sec-fetch-site": "cross-site",
      });
      if (crossSite.status !== 403) record("from another site", endpoint, crossSite);
    }
    expect(wrong).toEqual([]);
  });

  test("does not consume the plan's or the API's limits, and has a separate limit", async () => {
    const user = await createUser(stack, account.id);
    const [one, two] = [await signIn(stack, user), await signIn(stack, user)];
    const limits = z.object({
      limits: z.array(z.object({ name: z.string(), limit: z.int(), remaining: z.int() })),
    });
    const another = await signIn(stack, await createUser(stack, account.id));
    const readLimits = (session: Session) => session.send(`/api/${account.id}/live/v1/limits`);
    const { limits: found } = limits.parse((await readLimits(one)).body);
    expect(found.every(({ limit, remaining }) => limit === remaining)).toBe(true);
    // The limit is the user's, in whatever number of sessions, and not the account's.
    const remaining = async (session: Session) =>
      Number((await readLimits(session)).headers.get("x-ratelimit-remaining"));
    const left = await remaining(one);
    expect(left).toBeGreaterThan(0);
    expect([await remaining(two), await remaining(one)]).toEqual([left - 1, left - 2]);
    expect(await remaining(another)).toBe(left + 1);
  });

  test("needs a second factor of the roles of which the account asks for one", async () => {
    const { id, owner } = await createAccountWithOwner();
    const user = await createUser(stack, id, "member");
    const member = await signIn(stack, user);
    const links = async (session: Session) =>
      (await session.send(`/api/${id}/live/v1/links`)).status;
    const need = (roles: unknown) =>
      owner.send(`/api/${id}/members/second-factor`, { method: "PUT", body: { roles } });
    for (const roles of [["admin"], "member", ["member", "member", "owner", "viewer"]])
      expect(codeOf(await need(roles))).toEqual([400, "invalid_request"]);
    expect((await need(["member"])).status).toBe(200);
    expect([await links(member), await links(owner)]).toEqual([403, 200]);
    expect((await member.send("/auth/session")).body).toMatchObject({
      accounts: [{ id, needs_second_factor: true }],
    });
    await sql`update users set has_second_factor = true where email = ${user.email}`;
    expect(await links(member)).toBe(200);
    expect((await need([])).status).toBe(200);
  });

  test("is rejected for an unknown mode and for a suspended account", async () => {
    const suspended = await createAccount(stack, "pro");
    const session = await signIn(stack, await createUser(stack, suspended.id));
    const links = (mode: string) => session.send(`/api/${suspended.id}/${mode}/v1/links`);
    expect((await links("live")).status).toBe(200);
    expect(codeOf(await links("none"))).toEqual([404, "not_found"]);
    await admin(stack, ["accounts", "suspend", suspended.id]);
    expect(codeOf(await links("live"))).toEqual([403, "forbidden"]);
  });
});

const sendCode = (code: unknown) =>
  call(url("/auth/sign-in/code"), {
    body: { code },
    headers: { ...browserHeaders(stack), ...fromElsewhere() },
  });

const sendPasskey = (response: unknown) =>
  call(url("/auth/passkeys/sign-in"), {
    body: { response },
    headers: { ...browserHeaders(stack), ...fromElsewhere() },
  });

describe("signing in", () => {
  test("sets a cookie that scripts and other sites cannot get, with a token that no attacker has chosen", async () => {
    const user = await createUser(stack, account.id);
    const fixed = "shorthop.session_token=chosen-by-an-attacker.c2lnbmF0dXJl";
    const response = await trySignIn(stack, user, { cookie: fixed });
    const [cookie = ""] = response.headers.getSetCookie();
    expect(cookie).toMatch(/; HttpOnly/);
    expect(cookie).toMatch(/; SameSite=Strict/);
    expect(cookie).toMatch(/; Path=\//);
    expect(cookie).not.toContain("chosen-by-an-attacker");
    expect((await new Session(stack, fixed).send("/auth/session")).status).toBe(401);
    // Signing in again creates a new session; the old one keeps its token.
    const first = readSessionCookie(response) ?? "";
    const second = readSessionCookie(await trySignIn(stack, user, { cookie: first })) ?? "";
    expect(second).not.toBe(first);
  });

  test("is not possible with a forged cookie signature", async () => {
    const session = await signIn(stack, await createUser(stack, account.id));
    const forged = session.cookie.replace(
      /\.[^.]+$/,
      ".AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA%3D",
    );
    expect(forged).not.toBe(session.cookie);
    expect(codeOf(await new Session(stack, forged).send("/auth/session"))).toEqual([
      401,
      "unauthorized",
    ]);
  });

  test("fails identically for a wrong password and an unknown user, and is forbidden from other sites", async () => {
    const user = await createUser(stack, account.id);
    const wrong = await trySignIn(stack, { ...user, password: "not the password" });
    const nobody = await trySignIn(stack, {
      email: "nobody@example.com",
      password: "whatever it is",
    });
    expect(codeOf(wrong)).toEqual([401, "unauthorized"]);
    expect(nobody.body).toEqual(wrong.body);
    for (const headers of [
      { origin: "https://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "same-site" },
    ]) {
      expect(codeOf(await trySignIn(stack, user, headers))).toEqual([403, "forbidden"]);
    }
    const without = await call(url("/auth/sign-in"), { body: user });
    expect(codeOf(without)).toEqual([403, "forbidden"]);
  });

  test("is limited to thirty attempts per client address, for any user", async () => {
    const from = fromElsewhere();
    const guess = (i: number) =>
      trySignIn(stack, { email: `guess-${i}@example.com`, password: "whatever it is" }, from);
    // Some at a time: each is a password's work, which a busy machine takes seconds for.
    const statuses: number[] = [];
    while (statuses.length < 31) {
      const some = Array.from({ length: Math.min(5, 31 - statuses.length) }, (_, i) =>
        guess(statuses.length + i),
      );
      statuses.push(...(await Promise.all(some)).map(({ status }) => status));
    }
    expect(statuses.filter((status) => status === 429)).toHaveLength(1);
  });

  test("rejects malformed codes, and codes without a password", async () => {
    for (const code of ["", "12345", "1234567", "x".repeat(100_000), "aaaaa_aaaaa", 123_456, null])
      expect(codeOf(await sendCode(code))).toEqual([400, "invalid_request"]);
    for (const code of ["123456", "123 456", "aaaaa-aaaaa"])
      expect(codeOf(await sendCode(code))).toEqual([401, "unauthorized"]);
  });

  test("rejects what no authenticator sends, of any size", async () => {
    const answer = { clientDataJSON: "e30", authenticatorData: "e30", signature: "e30" };
    const passkey = { id: "a", rawId: "a", type: "public-key", clientExtensionResults: {} };
    expect(codeOf(await sendPasskey({ ...passkey, response: answer }))).toEqual([
      401,
      "unauthorized",
    ]);
    for (const response of [
      null,
      [],
      { ...passkey, response: {} },
      { ...passkey, id: "x".repeat(2_000), response: answer },
      { ...passkey, response: { ...answer, signature: "x".repeat(20_000) } },
    ])
      expect(codeOf(await sendPasskey(response))).toEqual([400, "invalid_request"]);
  });

  test("rejects malformed bodies", async () => {
    for (const body of [{}, { email: "x" }, { email: "a@example.com" }, [], "{", { email: 1 }]) {
      const response = await call(url("/auth/sign-in"), {
        body,
        headers: { ...browserHeaders(stack), ...fromElsewhere() },
      });
      expect(codeOf(response)).toEqual([400, "invalid_request"]);
    }
  });
});

const isAlive = async (session: Session): Promise<boolean> =>
  (await session.send("/auth/session")).status === 200;

const listDevices = async (session: Session) =>
  z
    .object({ data: z.array(z.object({ id: z.string(), current: z.boolean() })) })
    .parse((await session.send("/auth/devices")).body).data;

describe("a session", () => {
  test("ends with its sign-out, while others continue", async () => {
    const user = await createUser(stack, account.id);
    const [one, two] = [await signIn(stack, user), await signIn(stack, user)];
    expect((await one.send("/auth/sign-out", { method: "POST" })).status).toBe(200);
    expect([await isAlive(one), await isAlive(two)]).toEqual([false, true]);
  });

  test("can end all sessions of its user", async () => {
    const user = await createUser(stack, account.id);
    const [one, two] = [await signIn(stack, user), await signIn(stack, user)];
    const other = await signIn(stack, await createUser(stack, account.id));
    expect((await one.send("/auth/sign-out-everywhere", { method: "POST" })).status).toBe(200);
    expect([await isAlive(one), await isAlive(two), await isAlive(other)]).toEqual([
      false,
      false,
      true,
    ]);
  });

  test("that changes the password ends the others and gets a new token", async () => {
    const user = await createUser(stack, account.id);
    const [one, two] = [await signIn(stack, user), await signIn(stack, user)];
    const change = (current_password: string, new_password: string) =>
      one.send("/auth/password", { method: "POST", body: { current_password, new_password } });
    expect(codeOf(await change("not the password", "a new password"))).toEqual([
      400,
      "invalid_request",
    ]);
    expect(codeOf(await change(user.password, "short"))).toEqual([400, "invalid_request"]);
    const changed = await change(user.password, "a new password");
    expect(changed.status).toBe(200);
    expect([await isAlive(one), await isAlive(two)]).toEqual([false, false]);
    expect(await isAlive(new Session(stack, readSessionCookie(changed) ?? ""))).toBe(true);
    expect((await trySignIn(stack, user)).status).toBe(401);
    expect((await trySignIn(stack, { ...user, password: "a new password" })).status).toBe(200);
  });

  test("ends another session of its user by id, and none of others", async () => {
    const user = await createUser(stack, account.id);
    const [one, two] = [await signIn(stack, user), await signIn(stack, user)];
    const stranger = await signIn(stack, await createUser(stack, account.id));
    const id = (await listDevices(two)).find(({ current }) => !current)?.id ?? "";
    const end = (session: Session, path = id) =>
      session.send(`/auth/devices/${path}`, { method: "DELETE" });
    expect(codeOf(await end(stranger))).toEqual([404, "not_found"]);
    expect(await isAlive(one)).toBe(true);
    expect((await end(two)).status).toBe(200);
    expect([await isAlive(one), await isAlive(two)]).toEqual([false, true]);
    for (const path of [id, "sess_none", "x".repeat(2_000), "%00"])
      expect(codeOf(await end(two, path))).toEqual([404, "not_found"]);
  });

  test("that has expired is not listed, and none to end", async () => {
    const user = await createUser(stack, account.id);
    await signIn(stack, user);
    const session = await signIn(stack, user);
    const before = await listDevices(session);
    expect(before.map(({ current }) => current)).toEqual([true, false]);
    const id = before.find(({ current }) => !current)?.id ?? "";
    await sql`
      update sessions set expires_at = now() - interval '1 second'
       where id = ${decodeId("sess", id) ?? null}`;
    expect((await listDevices(session)).map(({ current }) => current)).toEqual([true]);
    const ended = await session.send(`/auth/devices/${id}`, { method: "DELETE" });
    expect(codeOf(ended)).toEqual([404, "not_found"]);
  });

  test("stores no more of its user agent than names the device", async () => {
    const user = await createUser(stack, account.id);
    const response = await trySignIn(stack, user, { "user-agent": "x".repeat(10_000) });
    const { body } = await new Session(stack, readSessionCookie(response) ?? "").send(
      "/auth/devices",
    );
    expect(body).toMatchObject({ data: [{ user_agent: "x".repeat(512) }] });
  });

  test("stores neither passwords nor client addresses in the database", async () => {
    const user = await createUser(stack, account.id);
    const from = "203.0.113.77";
    await trySignIn(stack, { ...user, password: "a wrong password" }, { "x-forwarded-for": from });
    await trySignIn(stack, user, { "x-forwarded-for": from });
    const dump = await stack.database.dump();
    expect(dump).toContain(user.email);
    expect(dump).not.toContain(user.password);
    expect(dump).not.toContain(from);
    expect(stack.output()).not.toContain(user.password);
  });
});

const list = z.object({
  members: z.array(z.object({ user_id: z.string(), email: z.string(), role: z.string() })),
  invitations: z.array(z.object({ id: z.string(), email: z.string() })),
});
const invitationSchema = z.object({ id: z.string(), token: z.string() });

async function createAccountWithOwner() {
  const { id } = await createAccount(stack, "pro");
  const user = await createUser(stack, id);
  return { id, user, owner: await signIn(stack, user) };
}

async function invite(owner: Session, id: string, email: string, role = "member") {
  const response = await owner.send(`/api/${id}/invitations`, { body: { email, role } });
  expect(response.status).toBe(201);
  return invitationSchema.parse(response.body);
}

const accept = (token: string, body: unknown, cookie = "") =>
  new Session(stack, cookie).send(`/auth/invitations/${token}/accept`, {
    body,
    headers: fromElsewhere(),
  });

describe("invited users", () => {
  test("cannot join by an invitation that was withdrawn, has expired or was replaced, which owners do not see", async () => {
    const { id, owner } = await createAccountWithOwner();
    const withdrawn = await invite(owner, id, "one@example.com");
    await owner.send(`/api/${id}/invitations/${withdrawn.id}`, { method: "DELETE" });
    const replaced = await invite(owner, id, "two@example.com");
    const current = await invite(owner, id, "two@example.com");
    const old = await invite(owner, id, "three@example.com");
    await sql`
      update invitations set expires_at = now() - interval '1 second' where email = 'three@example.com'`;
    const { invitations } = list.parse((await owner.send(`/api/${id}/members`)).body);
    expect(invitations.map(({ email }) => email)).toEqual(["two@example.com"]);
    const user = { name: "Somebody", password: "a new password" };
    for (const { token } of [withdrawn, replaced, old, { token: "none" }]) {
      expect(codeOf(await accept(token, user))).toEqual([404, "not_found"]);
    }
    expect((await accept(current.token, user)).status).toBe(200);
  });
});

const ask = (email: string, from = fromElsewhere()) =>
  new Session(stack, "").send("/auth/password-resets", { body: { email }, headers: from });

describe("a forgotten password", () => {
  test("is not asked for by mail where none is set up: the page knows, and so does who asks", async () => {
    const options = await call(url("/auth/password-resets"), { headers: fromElsewhere() });
    expect(options.body).toEqual({ by_mail: false });
    const [known, unknown] = [await createUser(stack), { email: "nobody@example.com" }];
    const responses = [await ask(known.email), await ask(unknown.email)];
    expect(responses.map(codeOf)).toEqual([
      [400, "invalid_request"],
      [400, "invalid_request"],
    ]);
    expect(errorSchema.parse(responses[0]?.body).error.message).toContain("Ask an owner");
  });

  test("is asked for by a network so often, for whomever", async () => {
    const from = { "x-forwarded-for": "203.0.113.77" };
    const { limit } = WINDOWS.password_resets;
    const responses = [];
    for (let i = 0; i <= limit; i++) responses.push(await ask(`nobody-${i}@example.com`, from));
    expect(responses.map(({ status }) => status)).toEqual([
      ...Array.from({ length: limit }, () => 400),
      429,
    ]);
    expect(Number(responses.at(-1)?.headers.get("retry-after"))).toBeGreaterThan(0);
  });
});

describe("members of an account", () => {
  test("always include an owner, even if the last two leave concurrently", async () => {
    const { id, user, owner } = await createAccountWithOwner();
    const remove = (session: Session, member: TestUser) =>
      session.send(`/api/${id}/members/${member.id}`, { method: "DELETE" });
    expect(codeOf(await remove(owner, user))).toEqual([400, "invalid_request"]);
    const demote = await owner.send(`/api/${id}/members/${user.id}`, {
      method: "PATCH",
      body: { role: "viewer" },
    });
    expect(codeOf(demote)).toEqual([400, "invalid_request"]);
    const second = await createUser(stack, id);
    const secondOwner = await signIn(stack, second);
    const responses = await Promise.all([remove(owner, user), remove(secondOwner, second)]);
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200, 400]));
  });

  test("have a changed role from the next request on", async () => {
    const { id, owner } = await createAccountWithOwner();
    const user = await createUser(stack, id, "member");
    const session = await signIn(stack, user);
    const createLink = () =>
      session.send(`/api/${id}/live/v1/links`, { body: { url: "https://example.com" } });
    expect((await createLink()).status).toBe(201);
    await owner.send(`/api/${id}/members/${user.id}`, {
      method: "PATCH",
      body: { role: "viewer" },
    });
    expect((await createLink()).status).toBe(403);
    const { body } = await owner.send(`/api/${id}/members`);
    expect(list.parse(body).members.map(({ role }) => role)).toEqual(["owner", "viewer"]);
    await owner.send(`/api/${id}/members/${user.id}`, { method: "DELETE" });
    expect((await session.send(`/api/${id}/live/v1/links`)).status).toBe(404);
  });
});

test("a share has the origin of API_URL, whether a key or the dashboard made it", async () => {
  const { id, key } = await createAccount(stack, "pro");
  const session = await signIn(stack, await createUser(stack, id));
  const path = "/v1/shares";
  const body = {};
  const responses = [
    await call(`${stack.info().api_url}${path}`, { key, body }),
    await session.send(`/api/${id}/live${path}`, { body }),
  ];
  const origins = responses.map(
    ({ body }) => new URL(z.object({ url: z.string() }).parse(body).url).origin,
  );
  expect(origins).toEqual([stack.info().api_url, stack.info().api_url]);
});

describe("the dashboard's responses", () => {
  test("forbid framing, foreign scripts and caching", async () => {
    const session = await signIn(stack, await createUser(stack, account.id));
    for (const path of ["/", "/any/page", "/auth/session", `/api/${account.id}/live/v1/links`]) {
      const { headers } = await session.send(path);
      expect(headers.get("x-frame-options")).toBe("DENY");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain("unsafe");
      const caching = headers.get("cache-control");
      expect(caching).toBe(path === "/" || path === "/any/page" ? "no-cache" : "no-store");
    }
  });

  test("are 404 for unknown paths of the API, and the page for any other path", async () => {
    expect(codeOf(await call(url("/api/none")))).toEqual([404, "not_found"]);
    expect(codeOf(await call(url("/auth/none")))).toEqual([404, "not_found"]);
    expect((await call(url("/links/none"))).status).toBe(200);
    expect((await call(url("/%2e%2e/%2e%2e/etc/passwd"))).headers.get("content-type")).toContain(
      "text/html",
    );
  });
});

test("the operator's command line creates users, sets their passwords and removes them", async () => {
  const user = await createUser(stack, account.id);
  const session = await signIn(stack, user);
  /** The exit code and the error of a command, of which no word has a blank. */
  const run = async (words: string) => {
    const { code, stderr } = await runAdmin(stack, words.split(" "));
    return [code, stderr];
  };
  const nowhere = "--account acct_01m7ythg6eex4vpp1yqjbwvn70";
  const exists = expect.stringContaining("There is somebody with this e-mail address.");
  const missing = "The account does not exist.\n";
  for (const [words, error, code] of [
    [`users create --email ${user.email.toUpperCase()} --name Again`, exists, 1],
    [`users create --email nowhere@example.com --name N ${nowhere}`, missing, 1],
    [`users join --email ${user.email} ${nowhere}`, expect.any(String), 1],
    ["users create --email x --name X", expect.any(String), 2],
  ] as const)
    expect([words, ...(await run(words))]).toEqual([words, code, error]);
  const users = await admin<{ email: string; accounts: string[] }[]>(stack, ["users", "list"]);
  expect(users.find(({ email }) => email === user.email)?.accounts).toEqual([account.id]);
  expect(users.some(({ email }) => email === "nowhere@example.com")).toBe(false);
  const setting = ["users", "set-password", "--email", user.email];
  const { password } = await admin<{ password: string }>(stack, setting);
  expect(await isAlive(session)).toBe(false);
  const newSession = await signIn(stack, { ...user, password });
  const removal = `users remove --email ${user.email}`;
  expect((await run(removal))[0]).toBe(0);
  expect(await isAlive(newSession)).toBe(false);
  expect((await run(removal))[0]).toBe(1);
});
