/**
 * Goal: a browser signs in with the provider by the two routes, with cookies that it sends back where
 * they are needed and nowhere else; and whatever else is sent there signs nobody in. Method: the
 * dashboard's site, on a real PostgreSQL and with a real provider on loopback.
 */
import { expect, test } from "bun:test";

import { encodeId } from "../../shared/ids.ts";
import { processLog } from "../../shared/log.ts";
import { fakeContext, fakeServices, MemoryStores } from "../../test/harness/fake-api.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { passProvider, TestProvider } from "../../test/harness/oidc-provider.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { dashboardSite, People } from "../dashboard/app.ts";
import { PasswordHashing } from "../passwords/hashing.ts";

const ORIGIN = "http://localhost:3001";
const EMAIL = "somebody@corp.example";

const postgres = await forFile(startPostgres());
const provider = await forFile(TestProvider.start(ORIGIN));
provider.know({ sub: "1", email: EMAIL, email_verified: true, name: "Some Body", groups: [] });

const settings = {
  issuer: provider.issuer,
  clientId: provider.clientId,
  clientSecret: provider.clientSecret,
  name: "Corp",
  scopes: ["openid", "email", "profile", "offline_access"],
  accountId: await postgres.addAccount(),
  roleClaim: undefined,
  roles: [{ value: "*", role: "owner" as const }],
  trustedDomains: [],
  breakGlass: undefined,
  only: false,
};
const people = new People(
  postgres.sql,
  new PasswordHashing(),
  ORIGIN,
  "a secret of this test, long enough",
  { settings, log: processLog("api", "silent") },
);
const app = dashboardSite(fakeContext(new MemoryStores()), fakeServices(), people, {
  assets: new Map(),
  origin: ORIGIN,
});

const send = (path: string, init: RequestInit = {}): Promise<Response> =>
  Promise.resolve(app.handle(new Request(`${ORIGIN}${path}`, init)));

const OWN_PAGE = { origin: ORIGIN, "sec-fetch-site": "same-origin" };

/** What a browser sends back. */
const cookieOf = (response: Response): string =>
  response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(";")[0])
    .join("; ");

/** Begins a sign-in; returns the path with which the provider sends the browser back. */
async function begin(): Promise<{ callback: string; cookie: string; response: Response }> {
  const response = await send("/auth/oidc", { method: "POST", headers: OWN_PAGE });
  const { url } = (await response.json()) as { url: string };
  const { pathname, search } = await passProvider(url, ORIGIN);
  return { callback: `${pathname}${search}`, cookie: cookieOf(response), response };
}

test("a browser is led to the provider and back, and is signed in, which the audit log has", async () => {
  const { callback, cookie, response } = await begin();
  // It comes back from another site; nothing of it is for scripts.
  for (const set of response.headers.getSetCookie()) expect(set).toMatch(/HttpOnly.*SameSite=Lax/i);
  const back = await send(callback, { headers: { cookie, "sec-fetch-site": "cross-site" } });
  expect([back.status, back.headers.get("location")]).toEqual([302, "/"]);
  expect(back.headers.get("cache-control")).toContain("no-store");
  const session = back.headers.getSetCookie().find((set) => set.includes("session_token="));
  expect(session).toMatch(/HttpOnly.*SameSite=Strict/i);
  const signedIn = await send("/auth/session", { headers: { cookie: cookieOf(back) } });
  const { user, accounts } = (await signedIn.json()) as {
    user: { email: string };
    accounts: { role: string }[];
  };
  expect([user.email, accounts.map(({ role }) => role)]).toEqual([EMAIL, ["owner"]]);
  const [known] = await postgres.sql<{ id: string }[]>`select id from users where email = ${EMAIL}`;
  const entries = await postgres.sql`
    select type from events where actor ->> 'id' = ${encodeId("user", known?.id ?? "")}`;
  expect(entries.map(({ type }) => type)).toContain("session.started");
});

test("only the dashboard's own page begins a sign-in", async () => {
  for (const headers of [{}, { origin: "https://evil.example" }, { ...OWN_PAGE, origin: "null" }])
    expect((await send("/auth/oidc", { method: "POST", headers })).status).toBe(403);
});

test("what another browser began, what was used, and what nobody began signs nobody in", async () => {
  const [mine, theirs] = [await begin(), await begin()];
  const attempts = [
    () => send(mine.callback),
    () => send(mine.callback, { headers: { cookie: theirs.cookie } }),
    () => send("/auth/oidc/callback"),
    () => send("/auth/oidc/callback?code=x&state=y", { headers: { cookie: mine.cookie } }),
    () => send("/auth/oidc/callback?error=<script>", { headers: { cookie: mine.cookie } }),
  ];
  for (const attempt of attempts) {
    const response = await attempt();
    expect([response.status, response.headers.get("location")]).toEqual([302, "/?sign-in=failed"]);
    expect(response.headers.getSetCookie().join()).not.toMatch(/session_token=[^;]/);
  }
});

test("what a provider adds to the address is ignored (RFC 6749 §4.1.2)", async () => {
  const { callback, cookie } = await begin();
  const back = await send(`${callback}&session_state=1&locale=en&userState=Authenticated`, {
    headers: { cookie },
  });
  expect([back.status, back.headers.get("location")]).toEqual([302, "/"]);
});

test("a parameter is bounded, and sent once", async () => {
  for (const query of [`code=${"x".repeat(5_000)}`, "code=1&code=2"]) {
    const response = await send(`/auth/oidc/callback?${query}`);
    expect([query.slice(0, 10), response.status]).toEqual([query.slice(0, 10), 400]);
  }
});
