/**
 * Goal: whoever signs in may do what their role allows in their own accounts, and nobody does anything in
 * their name. Method: every endpoint asked by every kind of caller, and the attacks on sessions by hand.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import postgres from "postgres";
import * as z from "zod";

import { admin, createAccount, type NewAccount, runAdmin } from "../harness/admin.ts";
import { type Answer, call, errorAnswer } from "../harness/api.ts";
import {
  asPage,
  cookieOf,
  createPerson,
  type Person,
  type Session,
  sessionOf,
  signIn,
  trySignIn,
} from "../harness/dashboard.ts";
import { type Stack, startStack } from "../harness/stack.ts";

let stack: Stack;
let account: NewAccount;
let other: NewAccount;

beforeAll(async () => {
  stack = await startStack();
  account = await createAccount(stack, "pro");
  other = await createAccount(stack, "pro");
});
afterAll(() => stack[Symbol.asyncDispose]());

const codeOf = ({ status, body }: Answer) => [status, errorAnswer.parse(body).error.code];
const url = (path: string) => `${stack.info().dashboard_url}${path}`;
const withDatabase = async <T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T> => {
  const sql = postgres(stack.info().database_url, { max: 1, onnotice: () => undefined });
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
};

/** An address of one's own, so that limits of other tests do not count. */
let addresses = 0;
const fromElsewhere = () => ({ "x-forwarded-for": `198.51.100.${++addresses}` });

const SCOPES_OF_ROLE: Record<string, readonly string[]> = {
  viewer: ["links:read", "analytics:read", "domains:read"],
  member: [
    "links:read",
    "analytics:read",
    "domains:read",
    "links:write",
    "links:delete",
    "domains:write",
    "members:read",
  ],
  owner: [
    "links:read",
    "analytics:read",
    "domains:read",
    "links:write",
    "links:delete",
    "domains:write",
    "keys:read",
    "keys:write",
    "members:read",
    "members:write",
  ],
};

type Endpoint = { method: string; path: string; scope: string | undefined };

/** Every operation of /v1 by its own description, and what the dashboard has beside it. */
async function everyEndpoint(): Promise<Endpoint[]> {
  const document = z
    .object({
      paths: z.record(
        z.string(),
        z.record(
          z.string(),
          z.object({ security: z.array(z.object({ apiKey: z.array(z.string()) })) }),
        ),
      ),
    })
    .parse((await call(`${stack.info().api_url}/v1/openapi.json`)).body);
  const ofApi = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { security }]) => ({
      method: method.toUpperCase(),
      path: `/live${path.replaceAll(/\{\w+\}/g, "link_01k9z3v6x7e8w9r0t1y2u3i4o5")}`,
      scope: security[0]?.apiKey[0],
    })),
  );
  return [
    ...ofApi,
    { method: "GET", path: "/live/link-settings/link_none", scope: "links:read" },
    { method: "GET", path: "/members", scope: "members:read" },
    { method: "PATCH", path: "/members/user_none", scope: "members:write" },
    { method: "DELETE", path: "/members/user_none", scope: "members:write" },
    { method: "POST", path: "/invitations", scope: "members:write" },
    { method: "DELETE", path: "/invitations/inv_none", scope: "members:write" },
  ];
}

describe("every call of the dashboard", () => {
  test("is let through for roles that have its permission, and for nobody else", async () => {
    const endpoints = await everyEndpoint();
    expect(endpoints.length).toBeGreaterThan(25);
    const sessions = new Map<string, Session>();
    for (const role of Object.keys(SCOPES_OF_ROLE)) {
      sessions.set(role, await signIn(stack, await createPerson(stack, account.id, role)));
    }
    const stranger = await signIn(stack, await createPerson(stack, other.id));
    const wrong: string[] = [];
    const note = (what: string, { method, path }: Endpoint, answer: Answer) =>
      wrong.push(`${what}: ${method} ${path} -> ${answer.status} ${JSON.stringify(answer.body)}`);

    for (const endpoint of endpoints) {
      const { method, path, scope } = endpoint;
      const ask = (session: Session, headers = {}) =>
        session.ask(`/api/${account.id}${path}`, {
          method,
          headers,
          ...(method === "POST" || method === "PATCH" ? { body: {} } : {}),
        });
      for (const [role, session] of sessions) {
        const answer = await ask(session);
        const may = scope === undefined || SCOPES_OF_ROLE[role]?.includes(scope) === true;
        if (may ? [401, 403].includes(answer.status) : answer.status !== 403) {
          note(role, endpoint, answer);
        }
      }
      const foreign = await ask(stranger);
      if (foreign.status !== 404) note("of another account", endpoint, foreign);
      const nobody = await ask(sessionOf(stack, ""), fromElsewhere());
      if (nobody.status !== 401) note("not signed in", endpoint, nobody);
      if (method === "GET") continue;
      const owner = sessions.get("owner");
      if (owner === undefined) throw new Error("There is no owner.");
      const crossSite = await ask(owner, {
        origin: "https://evil.example",
        "sec-fetch-site": "cross-site",
      });
      if (crossSite.status !== 403) note("from another site", endpoint, crossSite);
    }
    expect(wrong).toEqual([]);
  });

  test("counts neither for the plan's limits nor for the API's, and has a limit of its own", async () => {
    const session = await signIn(stack, await createPerson(stack, account.id));
    const limits = z.object({
      limits: z.array(z.object({ name: z.string(), limit: z.int(), remaining: z.int() })),
    });
    const ask = () => session.ask(`/api/${account.id}/live/v1/limits`);
    const { limits: found } = limits.parse((await ask()).body);
    expect(found.every(({ limit, remaining }) => limit === remaining)).toBe(true);
    const answers = await Promise.all(Array.from({ length: 1_200 }, ask));
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(1);
    // Somebody else of the same account goes on.
    const another = await signIn(stack, await createPerson(stack, account.id));
    expect((await another.ask(`/api/${account.id}/live/v1/limits`)).status).toBe(200);
  });

  test("in a mode that does not exist, or of an account that is suspended, is refused", async () => {
    const suspended = await createAccount(stack, "pro");
    const session = await signIn(stack, await createPerson(stack, suspended.id));
    const links = (mode: string) => session.ask(`/api/${suspended.id}/${mode}/v1/links`);
    expect((await links("live")).status).toBe(200);
    expect(codeOf(await links("none"))).toEqual([404, "not_found"]);
    await admin(stack, ["accounts", "suspend", suspended.id]);
    expect(codeOf(await links("live"))).toEqual([403, "forbidden"]);
  });
});

describe("signing in", () => {
  test("gives a cookie that scripts and other sites do not get, and a token nobody has chosen", async () => {
    const person = await createPerson(stack, account.id);
    const fixed = "shorthop.session_token=chosen-by-an-attacker.c2lnbmF0dXJl";
    const answer = await trySignIn(stack, person, { cookie: fixed });
    const [cookie = ""] = answer.headers.getSetCookie();
    expect(cookie).toMatch(/; HttpOnly/);
    expect(cookie).toMatch(/; SameSite=Strict/);
    expect(cookie).toMatch(/; Path=\//);
    expect(cookie).not.toContain("chosen-by-an-attacker");
    expect((await sessionOf(stack, fixed).ask("/auth/session")).status).toBe(401);
    // Signing in anew is a new session, and the old one keeps its own token.
    const first = cookieOf(answer) ?? "";
    const second = cookieOf(await trySignIn(stack, person, { cookie: first })) ?? "";
    expect(second).not.toBe(first);
  });

  test("by a cookie whose signature is not ours is not possible", async () => {
    const session = await signIn(stack, await createPerson(stack, account.id));
    const forged = session.cookie.replace(
      /\.[^.]+$/,
      ".AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA%3D",
    );
    expect(forged).not.toBe(session.cookie);
    expect(codeOf(await sessionOf(stack, forged).ask("/auth/session"))).toEqual([
      401,
      "unauthorized",
    ]);
  });

  test("answers the same for a wrong password and for nobody, and not at all from another site", async () => {
    const person = await createPerson(stack, account.id);
    const wrong = await trySignIn(stack, { ...person, password: "not the password" });
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
      expect(codeOf(await trySignIn(stack, person, headers))).toEqual([403, "forbidden"]);
    }
    const without = await call(url("/auth/sign-in"), { body: person });
    expect(codeOf(without)).toEqual([403, "forbidden"]);
  });

  test("is tried ten times for one address of e-mail, wherever from, and the right password forgives", async () => {
    const person = await createPerson(stack, account.id);
    const guess = () =>
      trySignIn(stack, { ...person, password: "not the password" }, fromElsewhere());
    for (let i = 0; i < 9; i++) expect((await guess()).status).toBe(401);
    expect((await trySignIn(stack, person, fromElsewhere())).status).toBe(200);
    for (let i = 0; i < 10; i++) expect((await guess()).status).toBe(401);
    const refused = await guess();
    expect(codeOf(refused)).toEqual([429, "rate_limited"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    // Not even the right one, until the window closes; others are let in.
    expect((await trySignIn(stack, person, fromElsewhere())).status).toBe(429);
    const another = await createPerson(stack, account.id);
    expect((await trySignIn(stack, another, fromElsewhere())).status).toBe(200);
  });

  test("is tried thirty times from one address, for whomever", async () => {
    const from = fromElsewhere();
    const guess = (i: number) =>
      trySignIn(stack, { email: `guess-${i}@example.com`, password: "whatever it is" }, from);
    const answers = await Promise.all(Array.from({ length: 31 }, (_, i) => guess(i)));
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(1);
  });

  test("takes a well-formed body alone", async () => {
    for (const body of [{}, { email: "x" }, { email: "a@example.com" }, [], "{", { email: 1 }]) {
      const answer = await call(url("/auth/sign-in"), {
        body,
        headers: { ...asPage(stack), ...fromElsewhere() },
      });
      expect(codeOf(answer)).toEqual([400, "invalid_request"]);
    }
  });
});

const isAlive = async (session: Session): Promise<boolean> =>
  (await session.ask("/auth/session")).status === 200;

describe("a session", () => {
  test("ends when one signs out, and others go on", async () => {
    const person = await createPerson(stack, account.id);
    const [one, two] = [await signIn(stack, person), await signIn(stack, person)];
    expect((await one.ask("/auth/sign-out", { method: "POST" })).status).toBe(200);
    expect([await isAlive(one), await isAlive(two)]).toEqual([false, true]);
  });

  test("ends everywhere when one says so", async () => {
    const person = await createPerson(stack, account.id);
    const [one, two] = [await signIn(stack, person), await signIn(stack, person)];
    const other = await signIn(stack, await createPerson(stack, account.id));
    expect((await one.ask("/auth/sign-out-everywhere", { method: "POST" })).status).toBe(200);
    expect([await isAlive(one), await isAlive(two), await isAlive(other)]).toEqual([
      false,
      false,
      true,
    ]);
  });

  test("that changes the password ends the others and gets a new token", async () => {
    const person = await createPerson(stack, account.id);
    const [one, two] = [await signIn(stack, person), await signIn(stack, person)];
    const change = (current_password: string, new_password: string) =>
      one.ask("/auth/password", { method: "POST", body: { current_password, new_password } });
    expect(codeOf(await change("not the password", "a new password"))).toEqual([
      400,
      "invalid_request",
    ]);
    expect(codeOf(await change(person.password, "short"))).toEqual([400, "invalid_request"]);
    const changed = await change(person.password, "a new password");
    expect(changed.status).toBe(200);
    expect([await isAlive(one), await isAlive(two)]).toEqual([false, false]);
    expect(await isAlive(sessionOf(stack, cookieOf(changed) ?? ""))).toBe(true);
    expect((await trySignIn(stack, person)).status).toBe(401);
    expect((await trySignIn(stack, { ...person, password: "a new password" })).status).toBe(200);
  });

  test("shows where one is signed in", async () => {
    const person = await createPerson(stack, account.id);
    await signIn(stack, person);
    const session = await signIn(stack, person);
    const { body } = await session.ask("/auth/devices");
    const devices = z.object({ data: z.array(z.object({ current: z.boolean() })) }).parse(body);
    expect(devices.data.filter(({ current }) => current)).toHaveLength(1);
    expect(devices.data).toHaveLength(2);
  });

  test("that follows a link's clicks is cut off when its person is removed", async () => {
    const person = await createPerson(stack, account.id);
    const session = await signIn(stack, person);
    const made = await session.ask(`/api/${account.id}/live/v1/links`, {
      body: { url: "https://example.com/followed" },
    });
    const { id } = z.object({ id: z.string() }).parse(made.body);
    const stream = await fetch(url(`/api/${account.id}/live/v1/analytics/${id}/stream`), {
      headers: { cookie: session.cookie },
    });
    expect(stream.status).toBe(200);
    await admin(stack, ["users", "remove", "--email", person.email]);
    // To its end, which comes with the next look.
    expect(await stream.text()).toStartWith("retry:");
  });

  test("leaves neither passwords nor addresses of people in the database", async () => {
    const person = await createPerson(stack, account.id);
    const from = "203.0.113.77";
    await trySignIn(
      stack,
      { ...person, password: "a wrong password" },
      { "x-forwarded-for": from },
    );
    await trySignIn(stack, person, { "x-forwarded-for": from });
    const dump = await withDatabase(async (sql) => {
      const tables = await sql<{ name: string }[]>`
        select table_name as name from information_schema.tables where table_schema = 'public'`;
      const rows = await Promise.all(
        tables.map(({ name }) => sql`select row_to_json(t)::text as row from ${sql(name)} t`),
      );
      return JSON.stringify(rows);
    });
    expect(dump).toContain(person.email);
    expect(dump).not.toContain(person.password);
    expect(dump).not.toContain(from);
    expect(stack.output()).not.toContain(person.password);
  });
});

const list = z.object({
  members: z.array(z.object({ user_id: z.string(), email: z.string(), role: z.string() })),
  invitations: z.array(z.object({ id: z.string(), email: z.string() })),
});
const invitation = z.object({ id: z.string(), token: z.string() });

async function newAccount() {
  const { id } = await createAccount(stack, "pro");
  const person = await createPerson(stack, id);
  return { id, person, owner: await signIn(stack, person) };
}

async function invite(owner: Session, id: string, email: string, role = "member") {
  const answer = await owner.ask(`/api/${id}/invitations`, { body: { email, role } });
  expect(answer.status).toBe(201);
  return invitation.parse(answer.body);
}

const accept = (token: string, body: unknown, cookie = "") =>
  sessionOf(stack, cookie).ask(`/auth/invitations/${token}/accept`, {
    body,
    headers: fromElsewhere(),
  });

describe("members", () => {
  test("that are new join by an invitation and a password of their own, once", async () => {
    const { id, owner } = await newAccount();
    const { token } = await invite(owner, id, "New.Person@example.com");
    const offer = await call(url(`/auth/invitations/${token}`), { headers: fromElsewhere() });
    expect(offer.body).toEqual({
      account_name: "Account on pro",
      email: "new.person@example.com",
      role: "member",
      known: false,
    });
    expect((await accept(token, { name: "New" })).status).toBe(401);
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => accept(token, { name: "New", password: "a new password" })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status >= 500)).toHaveLength(0);
    expect(codeOf(await accept(token, { name: "New", password: "a new password" }))).toEqual([
      404,
      "not_found",
    ]);
    const session = await signIn(stack, {
      id: "",
      email: "new.person@example.com",
      password: "a new password",
    });
    expect((await session.ask(`/api/${id}/live/v1/links`)).status).toBe(200);
  });

  test("that are known join as themselves, and nobody joins for somebody else", async () => {
    const { id, owner } = await newAccount();
    const known = await createPerson(stack, other.id);
    const stranger = await signIn(stack, await createPerson(stack, other.id));
    const { token } = await invite(owner, id, known.email, "viewer");
    expect(codeOf(await accept(token, {}))).toEqual([401, "unauthorized"]);
    expect(codeOf(await accept(token, {}, stranger.cookie))).toEqual([403, "forbidden"]);
    expect(codeOf(await accept(token, { name: "X", password: "a new password" }))).toEqual([
      400,
      "invalid_request",
    ]);
    // What failed did not use the invitation up.
    const session = await signIn(stack, known);
    expect((await accept(token, {}, session.cookie)).status).toBe(200);
    expect((await session.ask(`/api/${id}/live/v1/links`)).status).toBe(200);
    expect((await session.ask(`/api/${id}/live/v1/links`, { body: {} })).status).toBe(403);
  });

  test("do not join by an invitation that was withdrawn, is too old, or was replaced", async () => {
    const { id, owner } = await newAccount();
    const withdrawn = await invite(owner, id, "one@example.com");
    await owner.ask(`/api/${id}/invitations/${withdrawn.id}`, { method: "DELETE" });
    const replaced = await invite(owner, id, "two@example.com");
    const standing = await invite(owner, id, "two@example.com");
    const old = await invite(owner, id, "three@example.com");
    await withDatabase(
      (sql) => sql`
        update invitations set expires_at = now() - interval '1 second' where email = 'three@example.com'`,
    );
    const person = { name: "Somebody", password: "a new password" };
    for (const { token } of [withdrawn, replaced, old, { token: "none" }]) {
      expect(codeOf(await accept(token, person))).toEqual([404, "not_found"]);
    }
    expect((await accept(standing.token, person)).status).toBe(200);
  });

  test("of whom one at least is an owner, even when two leave at once", async () => {
    const { id, person, owner } = await newAccount();
    const remove = (session: Session, who: Person) =>
      session.ask(`/api/${id}/members/${who.id}`, { method: "DELETE" });
    expect(codeOf(await remove(owner, person))).toEqual([400, "invalid_request"]);
    const demote = await owner.ask(`/api/${id}/members/${person.id}`, {
      method: "PATCH",
      body: { role: "viewer" },
    });
    expect(codeOf(demote)).toEqual([400, "invalid_request"]);
    const second = await createPerson(stack, id);
    const secondOwner = await signIn(stack, second);
    const answers = await Promise.all([remove(owner, person), remove(secondOwner, second)]);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 400]));
  });

  test("change roles from the next request on", async () => {
    const { id, owner } = await newAccount();
    const person = await createPerson(stack, id, "member");
    const session = await signIn(stack, person);
    const make = () =>
      session.ask(`/api/${id}/live/v1/links`, { body: { url: "https://example.com" } });
    expect((await make()).status).toBe(201);
    await owner.ask(`/api/${id}/members/${person.id}`, {
      method: "PATCH",
      body: { role: "viewer" },
    });
    expect((await make()).status).toBe(403);
    const { body } = await owner.ask(`/api/${id}/members`);
    expect(list.parse(body).members.map(({ role }) => role)).toEqual(["owner", "viewer"]);
    await owner.ask(`/api/${id}/members/${person.id}`, { method: "DELETE" });
    expect((await session.ask(`/api/${id}/live/v1/links`)).status).toBe(404);
  });
});

describe("the page and its answers", () => {
  test("are in nobody's frame, run nothing from elsewhere, and are not kept", async () => {
    const session = await signIn(stack, await createPerson(stack, account.id));
    for (const path of ["/", "/any/page", "/auth/session", `/api/${account.id}/live/v1/links`]) {
      const { headers } = await session.ask(path);
      expect(headers.get("x-frame-options")).toBe("DENY");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain("unsafe");
      const kept = headers.get("cache-control");
      expect(kept).toBe(path === "/" || path === "/any/page" ? "no-cache" : "no-store");
    }
  });

  test("come compressed and are kept for ever where their name changes with them", async () => {
    const page = await (await fetch(url("/"))).text();
    const [, script = ""] = /src="([^"]+\.js)"/.exec(page) ?? [];
    const answer = await fetch(url(script), { headers: { "accept-encoding": "br, gzip" } });
    expect(answer.headers.get("content-encoding")).toBe("br");
    expect(answer.headers.get("cache-control")).toContain("immutable");
    const plain = await fetch(url(script), { headers: { "accept-encoding": "br;q=0" } });
    expect(plain.headers.get("content-encoding")).toBeNull();
    expect(await plain.text()).toBe(await answer.text());
  });

  test("know their own paths from what is nowhere", async () => {
    expect(codeOf(await call(url("/api/none")))).toEqual([404, "not_found"]);
    expect(codeOf(await call(url("/auth/none")))).toEqual([404, "not_found"]);
    expect((await call(url("/links/none"))).status).toBe(200);
    expect((await call(url("/%2e%2e/%2e%2e/etc/passwd"))).headers.get("content-type")).toContain(
      "text/html",
    );
  });
});

describe("the operator's command line", () => {
  test("makes people, gives them passwords, and removes them", async () => {
    const person = await createPerson(stack, account.id);
    const session = await signIn(stack, person);
    const again = await runAdmin(stack, [
      "users",
      "create",
      "--email",
      person.email.toUpperCase(),
      "--name",
      "Again",
    ]);
    expect([again.code, again.problem]).toEqual([
      1,
      expect.stringContaining("There is somebody with this e-mail address."),
    ]);
    const nowhere = ["--account", "acct_01m7ythg6eex4vpp1yqjbwvn70"];
    const create = ["users", "create", "--email", "nowhere@example.com", "--name", "N"];
    const lost = await runAdmin(stack, [...create, ...nowhere]);
    expect([lost.code, lost.problem]).toEqual([1, "The account does not exist.\n"]);
    expect(
      (await runAdmin(stack, ["users", "join", "--email", person.email, ...nowhere])).code,
    ).toBe(1);
    const users = await admin<{ email: string; accounts: string[] }[]>(stack, ["users", "list"]);
    expect(users.find(({ email }) => email === person.email)?.accounts).toEqual([account.id]);
    expect(users.some(({ email }) => email === "nowhere@example.com")).toBe(false);
    const { password } = await admin<{ password: string }>(stack, [
      "users",
      "set-password",
      "--email",
      person.email,
    ]);
    expect((await session.ask("/auth/session")).status).toBe(401);
    const anew = await signIn(stack, { ...person, password });
    await admin(stack, ["users", "remove", "--email", person.email]);
    expect((await anew.ask("/auth/session")).status).toBe(401);
    expect((await runAdmin(stack, ["users", "remove", "--email", person.email])).code).toBe(1);
    expect((await runAdmin(stack, ["users", "create", "--email", "x", "--name", "X"])).code).toBe(
      2,
    );
  });
});
