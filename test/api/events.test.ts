/**
 * Goal: everything that changes what an account owns is one event, whatever made the change; and
 * the feed tells it. Method: a table of every route and command that changes anything, with what
 * each records, or why it records nothing; one that is not in the table fails the test.
 */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";

import type { Command } from "commander";
import * as z from "zod";

import { SOURCES } from "../../cli/accounts/imports.ts";
import { buildProgram } from "../../cli/program.ts";
import { admin, createAccount, UNLIMITED } from "../harness/admin.ts";
import { ApiInProcess } from "../harness/api-in-process.ts";
import { ApiResources, type Resources } from "../harness/api-resources.ts";
import { call } from "../harness/api.ts";
import {
  createUser,
  type Session,
  signIn,
  type TestUser,
  trySignIn,
} from "../harness/dashboard.ts";
import { Dns } from "../harness/dns.ts";
import { forFile } from "../harness/for-file.ts";
import { createTemporaryDir } from "../harness/templates.ts";
import { listRoutes } from "../hostile/routes.ts";

const dns = await forFile(Dns.start());
const stack = await forFile(
  ApiInProcess.start({
    env: { DNS_SERVERS: dns.address },
    clickhouse: true,
  }),
);
const account = await createAccount(stack, "enterprise", UNLIMITED);
const resources = new ApiResources(stack, dns);
const owner = await createUser(stack, account.id);
const session = await signIn(stack, owner);

const eventSchema = z.object({
  id: z.string(),
  type: z.string(),
  created_at: z.string(),
  mode: z.string(),
  data: z.record(z.string(), z.unknown()),
  actor: z.object({ type: z.string(), id: z.string().optional() }),
  origin: z.object({ network: z.string(), request_id: z.string() }).nullable(),
});
const pageSchema = z.object({
  data: z.array(eventSchema),
  has_more: z.boolean(),
  next_cursor: z.string(),
});

type Json = Record<string, unknown>;

const found = z.looseObject({ id: z.string() });

async function send(path: string, method: string, body?: Json, key = account.key): Promise<Json> {
  const response = await call(`${stack.info().api_url}${path}`, {
    key,
    method,
    ...(body === undefined ? {} : { body }),
  });
  expect([path, response.status < 300, response.body]).toEqual([path, true, expect.anything()]);
  return z.record(z.string(), z.unknown()).parse(response.body);
}

const read = async (query: string, key = account.key) =>
  pageSchema.parse(await send(`/v1/events?${query}`, "GET", undefined, key));

const latest = async (key = account.key): Promise<string> =>
  (await read("starting_after=latest", key)).next_cursor;

const url = "https://example.com/";

const create = async (body: Json = {}) =>
  z
    .looseObject({ id: z.string(), alias: z.string() })
    .parse(await send("/v1/links", "POST", { url, ...body }));

let names = 0;
const newName = (): string => `name-${++names}`;

/** Makes a resource of a kind; returns its id. */
const make = async (kind: keyof Resources): Promise<string> =>
  (await resources.create(account.key, `:${kind}`))[kind];

async function createVerified(): Promise<{ id: string; domain: string }> {
  const made = await resources.createDomain(account.key);
  await send(`/v1/domains/${made.id}/verify`, "POST");
  return made;
}

const invite = async (email: string): Promise<{ id: string; token: string }> =>
  z.object({ id: z.string(), token: z.string() }).parse(
    (
      await session.send(`/api/${account.id}/invitations`, {
        method: "POST",
        body: { email, role: "member" },
      })
    ).body,
  );

/**
 * Makes what a change needs, and returns the change. It is made with the caller's feed at its end.
 */
type Change = () => Promise<() => Promise<unknown>>;

/** What a route or command records: the types of its events in order; or why it records nothing. */
type Recorded = { records: readonly string[]; change: Change } | { none: string };

const records = (types: string, change: Change): Recorded => ({
  records: types.split(" "),
  change,
});

const CODES = "It needs the app of a second factor: api/sessions/second-factor.test.ts.";

const PASSKEYS = "It needs an authenticator: api/sessions/passkeys.test.ts.";

const READS = "It reads, and changes nothing.";

const viewChanges = (path: string, query: string): Record<string, Recorded> => ({
  [`PUT ${path}/:name`]: records("view.saved", async () => {
    const name = newName();
    return () => send(`${path}/${name}`, "PUT", { query });
  }),
  [`DELETE ${path}/:name`]: records("view.deleted", async () => {
    const name = newName();
    await send(`${path}/${name}`, "PUT", { query });
    return () => send(`${path}/${name}`, "DELETE");
  }),
});

const createWebhook = async (path = "/secret-path"): Promise<string> =>
  found.parse(
    await send("/v1/webhooks", "POST", { url: `${HOOK}${path}`, events: ["link.created"] }),
  ).id;

const HOOK = "https://hooks.example.com";

const signInAsMember = async (): Promise<{ user: TestUser; theirs: Session }> => {
  const user = await createUser(stack, account.id, "member");
  return { user, theirs: await signIn(stack, user) };
};

/** Of something new: the change is the route itself, called so many times. */
const changesOf = (
  route: string,
  types: string,
  of: keyof Resources | (() => Promise<string>),
  body?: Json,
  times = 1,
): Record<string, Recorded> => ({
  [route]: records(types, async () => {
    const id = typeof of === "string" ? await make(of) : await of();
    const [method = "", path = ""] = route.replace(":id", id).split(" ");
    return async () => {
      for (let i = 0; i < times; i++) await send(path, method, body);
    };
  }),
});

const ROUTES: Readonly<Record<string, Recorded>> = {
  "POST /v1/links": records("link.created", async () => () => create()),
  "POST /v1/links/bulk": records(
    "link.created link.created",
    async () => () => send("/v1/links/bulk", "POST", { links: [{ url }, { url: "no" }, { url }] }),
  ),
  "POST /v1/links/bulk/check": { none: READS },
  "PATCH /v1/links/bulk": records("link.updated link.updated", async () => {
    const [a, b, same] = [await create(), await create(), await create({ title: "new" })];
    const links = [a, b, same].map(({ id }) => ({ id, title: "new" }));
    return () => send("/v1/links/bulk", "PATCH", { links });
  }),
  "POST /v1/links/bulk/delete": records("link.deleted link.deleted", async () => {
    const ids = [(await create()).id, (await create()).id, "link_none"];
    return () => send("/v1/links/bulk/delete", "POST", { ids });
  }),
  "PUT /v1/links/external/:external_id": records("link.created link.updated", async () => {
    const path = `/v1/links/external/${newName()}`;
    return async () => {
      await send(path, "PUT", { url });
      await send(path, "PUT", { url, title: "changed" });
      await send(path, "PUT", { url, title: "changed" });
    };
  }),
  "PATCH /v1/links/external/:external_id": records("link.updated", async () => {
    const external_id = newName();
    await create({ external_id });
    return () => send(`/v1/links/external/${external_id}`, "PATCH", { title: "changed" });
  }),
  "DELETE /v1/links/external/:external_id": records("link.deleted", async () => {
    const external_id = newName();
    await create({ external_id });
    return () => send(`/v1/links/external/${external_id}`, "DELETE");
  }),
  "PATCH /v1/links/:id": records("link.updated", async () => {
    const { id } = await create();
    return async () => {
      await send(`/v1/links/${id}`, "PATCH", { title: "changed" });
      // Without effect.
      await send(`/v1/links/${id}`, "PATCH", { title: "changed" });
    };
  }),
  "DELETE /v1/links/:id": records("link.deleted", async () => {
    const { id } = await create();
    return () => send(`/v1/links/${id}`, "DELETE");
  }),
  "POST /v1/links/:id/explain": { none: READS },
  "POST /v1/analytics/bulk": { none: READS },
  "PATCH /v1/tags/:name": records("link.updated", async () => {
    const tag = newName();
    await create({ tags: [tag] });
    return async () => {
      await send(`/v1/tags/${tag}`, "PATCH", { name: newName() });
    };
  }),
  "DELETE /v1/tags/:name": records("link.updated link.updated", async () => {
    const tag = newName();
    await create({ tags: [tag] });
    await create({ tags: [tag, "kept"] });
    return () => send(`/v1/tags/${tag}`, "DELETE");
  }),
  "POST /v1/tags/merge": records("link.updated", async () => {
    const [tag, into] = [newName(), newName()];
    await create({ tags: [tag] });
    await create({ tags: [into] });
    return () => send("/v1/tags/merge", "POST", { tags: [tag], into });
  }),
  "POST /v1/domains": records("domain.created", async () => () => make("domain")),
  ...changesOf("POST /v1/domains/:id/verify", "domain.verified", "domain", undefined, 2),
  "PATCH /v1/domains/:id": records("domain.updated", async () => {
    const { id } = await createVerified();
    return async () => {
      await send(`/v1/domains/${id}`, "PATCH", { root_url: url });
      await send(`/v1/domains/${id}`, "PATCH", { root_url: url });
    };
  }),
  ...changesOf("DELETE /v1/domains/:id", "domain.deleted", "domain"),
  "POST /v1/keys": records("key.created", async () => () => make("key")),
  ...changesOf("DELETE /v1/keys/:id", "key.revoked", "key", undefined, 2),
  ...changesOf("POST /v1/keys/:id/rotate", "key.rotated", "key", {}),
  "POST /keys/report": records("key.revoked", async () => {
    const made = await send("/v1/keys", "POST", { name: newName(), scopes: ["links:read"] });
    return async () => {
      await send("/keys/report", "POST", { keys: [made["key"]] });
      await send("/keys/report", "POST", { keys: [made["key"]] });
    };
  }),
  "POST /v1/shares": records("share.created", async () => () => make("share")),
  ...changesOf("PATCH /v1/shares/:id", "share.updated", "share", { name: "changed" }, 2),
  ...changesOf("POST /v1/shares/:id/rotate", "share.updated", "share", {}),
  ...changesOf("DELETE /v1/shares/:id", "share.revoked", "share"),
  "PATCH /v1/branding": records(
    "branding.updated",
    async () => () => send("/v1/branding", "PATCH", { name: newName() }),
  ),
  "POST /v1/webhooks": records("webhook.created", async () => () => createWebhook()),
  ...changesOf("PATCH /v1/webhooks/:id", "webhook.updated", createWebhook, {
    description: "changed",
  }),
  ...changesOf("DELETE /v1/webhooks/:id", "webhook.deleted", createWebhook),
  ...changesOf("POST /v1/webhooks/:id/rotate", "webhook.rotated", createWebhook),
  "POST /v1/webhooks/:id/replay": records("webhook.replayed", async () => {
    const id = await createWebhook();
    const [event] = (await read("order=desc&limit=1")).data;
    const body = { starting_after: event?.id ?? "" };
    return () => send(`/v1/webhooks/${id}/replay`, "POST", body);
  }),
  "POST /v1/webhooks/:id/deliveries/:delivery/retry": {
    none: "What is delivered, or when it is tried, changes nothing.",
  },
  ...changesOf("POST /v1/webhooks/:id/test", "webhook.test", () => createWebhook("/")),
  "POST /report-link": { none: "Visitors', who change nothing; the queue has it." },
  "POST /unsubscribe/:token": {
    none: "A token of a mail is needed: api/mail/queue.test.ts has it.",
  },
  "POST /v1/reports": records("report.created", async () => () => make("report")),
  ...changesOf("PATCH /v1/reports/:id", "report.updated", "report", {
    name: newName(),
  }),
  ...changesOf("DELETE /v1/reports/:id", "report.deleted", "report"),
  ...changesOf("POST /v1/reports/:id/send", "report.ready", "report"),
  ...viewChanges("/v1/views", "period=7d"),
  ...viewChanges("/v1/link-filters", "tag=a"),
  ...viewChanges("/v1/utm-templates", "utm_source=a"),
  "PATCH /api/:account/members/:id": records("member.updated", async () => {
    const member = await createUser(stack, account.id, "member");
    const path = `/api/${account.id}/members/${member.id}`;
    return async () => {
      await session.send(path, { method: "PATCH", body: { role: "viewer" } });
      await session.send(path, { method: "PATCH", body: { role: "viewer" } });
    };
  }),
  "DELETE /api/:account/members/:id": records("member.removed", async () => {
    const member = await createUser(stack, account.id, "member");
    return () => session.send(`/api/${account.id}/members/${member.id}`, { method: "DELETE" });
  }),
  "POST /api/:account/members/:id/password-resets": records(
    "member.reset_link_created",
    async () => {
      const member = await createUser(stack, account.id, "member");
      const path = `/api/${account.id}/members/${member.id}/password-resets`;
      return () => session.send(path, { method: "POST" });
    },
  ),
  "PUT /api/:account/members/second-factor": records(
    "account.updated",
    async () => () =>
      session.send(`/api/${account.id}/members/second-factor`, {
        method: "PUT",
        body: { roles: [] },
      }),
  ),
  "POST /api/:account/invitations": records(
    "member.invited",
    async () => () => invite(`${newName()}@example.com`),
  ),
  "DELETE /api/:account/invitations/:id": records("member.invitation_withdrawn", async () => {
    const { id } = await invite(`${newName()}@example.com`);
    return () => session.send(`/api/${account.id}/invitations/${id}`, { method: "DELETE" });
  }),
  "POST /auth/invitations/:token/accept": records("member.joined", async () => {
    const invited = await createUser(stack);
    const { token } = await invite(invited.email);
    const theirs = await signIn(stack, invited);
    return () => theirs.send(`/auth/invitations/${token}/accept`, { method: "POST", body: {} });
  }),
  "POST /auth/sign-in": records("session.started session.refused", async () => {
    const user = await createUser(stack, account.id, "member");
    return async () => {
      await signIn(stack, user);
      await signIn(stack, { ...user, password: "wrong password" }).catch(() => undefined);
    };
  }),
  "POST /auth/sign-in/code": { none: CODES },
  "POST /auth/second-factor": { none: "Nothing has changed until it is confirmed." },
  "POST /auth/second-factor/confirm": { none: CODES },
  "POST /auth/second-factor/recovery-codes": { none: CODES },
  "POST /auth/second-factor/remove": { none: CODES },
  "POST /auth/passkeys/options": { none: "Nothing has changed until the passkey is added." },
  "POST /auth/passkeys": { none: PASSKEYS },
  "POST /auth/passkeys/:id/remove": { none: PASSKEYS },
  "POST /auth/passkeys/challenge": { none: "Nothing has changed until it is answered." },
  "POST /auth/passkeys/sign-in": { none: PASSKEYS },
  "POST /auth/oidc": { none: "Nothing has changed until the provider sends somebody back." },
  "DELETE /auth/devices/:id": records("session.ended", async () => {
    const { user, theirs } = await signInAsMember();
    await signIn(stack, user);
    const { body } = await theirs.send("/auth/devices");
    const { data } = z
      .object({ data: z.array(z.object({ id: z.string(), current: z.boolean() })) })
      .parse(body);
    const other = data.find(({ current }) => !current);
    return () => theirs.send(`/auth/devices/${other?.id}`, { method: "DELETE" });
  }),
  "POST /auth/sign-out": records("session.ended", async () => {
    const { theirs } = await signInAsMember();
    return () => theirs.send("/auth/sign-out", { method: "POST" });
  }),
  "POST /auth/sign-out-everywhere": records("session.ended", async () => {
    const { user, theirs } = await signInAsMember();
    await signIn(stack, user);
    const after = () => theirs.send("/auth/sign-out-everywhere", { method: "POST" });
    return after;
  }),
  "POST /auth/password": records("user.password_changed", async () => {
    const { user, theirs } = await signInAsMember();
    const body = { current_password: user.password, new_password: "a-quite-new-one-73" };
    return () => theirs.send("/auth/password", { method: "POST", body });
  }),
  "POST /auth/password-resets": {
    none: "It must take as long for an address of nobody; the use of the link is recorded.",
  },
  "POST /auth/password-resets/:token": records("user.password_changed", async () => {
    const { user, theirs } = await signInAsMember();
    const path = `/api/${account.id}/members/${user.id}/password-resets`;
    const { body } = await session.send(path, { method: "POST" });
    const { token } = z.object({ token: z.string() }).parse(body);
    const sent = { method: "POST", body: { password: "a-quite-new-one-73" } };
    return () => theirs.send(`/auth/password-resets/${token}`, sent);
  }),
  "POST /v1/shared/:token/access": { none: READS },
  "POST /shared/:token": { none: READS },
};

const ELSEWHERE = "It needs streams or another machine; Installation.recordCommand records it.";

const COMMANDS: Readonly<Record<string, Recorded>> = {
  "accounts budgets": { none: READS },
  "accounts erase": { none: "The account is gone: test/scenarios/erasure.test.ts." },
  "accounts erase-clicks": { none: "It takes minutes: test/scenarios/erasure.test.ts." },
  "accounts export": records(
    "operator.command",
    async () => () =>
      admin(stack, [
        "accounts",
        "export",
        account.id,
        "--out",
        join(createTemporaryDir("shorthop-export-"), "account.ndjson"),
      ]),
  ),
  "accounts create": { none: "The account has no feed before; its own begins with it." },
  "accounts list": { none: READS },
  "accounts set-plan": records(
    "account.updated",
    async () => () =>
      admin(stack, [
        "accounts",
        "set-plan",
        account.id,
        "--plan",
        "enterprise",
        "--limits",
        JSON.stringify(UNLIMITED),
      ]),
  ),
  "accounts suspend": records(
    "account.updated",
    async () => () => admin(stack, ["accounts", "suspend", account.id, "--minutes", "0"]),
  ),
  ...Object.fromEntries(
    SOURCES.map(({ name }): [string, Recorded] => [`import ${name}`, { none: ELSEWHERE }]),
  ),
  "import undo": { none: ELSEWHERE },
  "import resume": { none: ELSEWHERE },
  "import list": { none: READS },
  "reviews list": { none: READS },
  "reviews keep": { none: "Only what waits in the queue: api/reviews/service.test.ts." },
  "reviews take-down": { none: "As links disable, which records it." },
  "audit list": { none: READS },
  "audit sign-ins": { none: READS },
  "audit verify": { none: READS },
  "keys create": records(
    "key.created",
    async () => () =>
      admin(stack, [
        "keys",
        "create",
        "--account",
        account.id,
        "--name",
        "n",
        "--scopes",
        "links:read",
      ]),
  ),
  "keys list": { none: READS },
  "keys revoke": records("key.revoked", async () => {
    const id = await make("key");
    return () => admin(stack, ["keys", "revoke", id]);
  }),
  "keys rotate": records("key.rotated", async () => {
    const id = await make("key");
    return () => admin(stack, ["keys", "rotate", id]);
  }),
  "users create": records("member.joined", async () => () => {
    const email = `${newName()}@example.com`;
    return admin(stack, [
      "users",
      "create",
      "--email",
      email,
      "--name",
      "N",
      "--account",
      account.id,
    ]);
  }),
  "users list": { none: READS },
  "users set-password": records("user.password_changed", async () => {
    const { email } = await createUser(stack, account.id, "member");
    return () => admin(stack, ["users", "set-password", "--email", email]);
  }),
  "users remove-second-factor": { none: CODES },
  "users reset-link": records("member.reset_link_created", async () => {
    const { email } = await createUser(stack, account.id, "member");
    return () => admin(stack, ["users", "reset-link", "--email", email]);
  }),
  "users join": records("member.joined member.updated", async () => {
    const { email } = await createUser(stack);
    const join = (role: string) =>
      admin(stack, ["users", "join", "--email", email, "--account", account.id, "--role", role]);
    return async () => {
      await join("member");
      await join("member");
      await join("viewer");
    };
  }),
  "users remove": records("member.removed", async () => {
    const { email } = await createUser(stack, account.id, "member");
    return () => admin(stack, ["users", "remove", "--email", email]);
  }),
  "links disable": records("link.taken_down account.taken_down", async () => {
    const { alias } = await create();
    return async () => {
      await admin(stack, ["links", "disable", "--alias", alias]);
      await admin(stack, ["links", "disable", "--alias", alias]);
      await admin(stack, ["links", "disable", "--account", account.id]);
      await admin(stack, ["links", "disable", "--host", TAKEN_DOWN_HOST]);
    };
  }),
  "links enable": records("account.restored link.restored", async () => {
    const { alias } = await create();
    await admin(stack, ["links", "disable", "--alias", alias]);
    await admin(stack, ["links", "disable", "--account", account.id]);
    return async () => {
      await admin(stack, ["links", "enable", "--account", account.id]);
      await admin(stack, ["links", "enable", "--alias", alias]);
    };
  }),
  "links disabled": { none: READS },
  "links adopt": { none: ELSEWHERE },
  "links keys": { none: "prints a new pair of keys, and changes nothing" },
  "links resync": { none: ELSEWHERE },
  "domains release": records("domain.displaced", async () => {
    const { domain } = await createVerified();
    return () => admin(stack, ["domains", "release", domain]);
  }),
  status: { none: READS },
  "dlq list": { none: READS },
  "dlq retry": { none: ELSEWHERE },
  "dlq drop": { none: ELSEWHERE },
  "region mirror": { none: ELSEWHERE },
  "region check": { none: READS },
  "region collect": { none: ELSEWHERE },
  "region forget": { none: ELSEWHERE },
  reconcile: { none: READS },
  journal: { none: READS },
  "check-rollups": { none: "It reads; with --repair it is recorded." },
  "backup drill": { none: READS },
  "backup list": { none: READS },
  restore: { none: ELSEWHERE },
  setup: { none: "makes its account, key and user as the commands for each do" },
  upgrade: { none: ELSEWHERE },
  migrate: { none: ELSEWHERE },
  "config check": { none: READS },
  doctor: { none: READS },
  "geoip update": { none: "It replaces a file of this host, which anybody can compare." },
};

/** A host that is taken down is no account's. */
const TAKEN_DOWN_HOST = "taken-down.example.org";

const listInstallation = async () =>
  z.array(eventSchema).parse(await admin(stack, ["audit", "list", "--limit", "1000"]));

type Event = z.output<typeof eventSchema>;

const withoutHosts = (events: readonly Event[]): Event[] =>
  events.filter(({ data: { host } }) => host !== TAKEN_DOWN_HOST);

/** Whole addresses, and what whoever knows it can use. */
const SECRETS = /\b\d+\.\d+\.\d+\.(?!0\/24)\d+|_(?:live|test)_\w{20}|\$argon2|secret-path|whsec_/;

/** Throws for an event with a secret or a whole address, or one of a person without an origin. */
function requireHarmless(event: Event): void {
  expect(JSON.stringify(event)).not.toMatch(SECRETS);
  // Also a stranger's report of a key.
  const isRequested =
    event.actor.type === "user" || event.actor.type === "api_key" || "reported" in event.data;
  expect([event.type, event.origin?.network.replace(/.*\//, "/")]).toEqual([
    event.type,
    isRequested ? "/24" : undefined,
  ]);
}

/** Programs of processes, which `shorthop` also runs. */
const PROCESSES = new Set(["api", "worker", "redirector"]);

describe("every change is recorded once, by", () => {
  for (const [kind, table] of Object.entries({ route: ROUTES, command: COMMANDS })) {
    for (const [name, recorded] of Object.entries(table)) {
      if ("none" in recorded) continue;
      test(`the ${kind} ${name}`, async () => {
        const change = await recorded.change();
        const [after, before] = [await latest(), await listInstallation()];
        await change();
        const { data } = await read(`starting_after=${after}&limit=100`);
        expect(data.map(({ type }) => type)).toEqual([...recorded.records]);
        expect(new Set(data.map(({ id }) => id)).size).toBe(data.length);
        // What is an account's is not in that of the installation as well.
        expect(withoutHosts(await listInstallation())).toEqual(withoutHosts(before));
        for (const event of data) requireHarmless(event);
      });
    }
  }

  test("a command that concerns no account, in the ledger of the installation", async () => {
    const before = new Set((await listInstallation()).map(({ id }) => id));
    const [email, host] = [`${newName()}@example.com`, `${newName()}.example.org`];
    await admin(stack, ["users", "create", "--email", email, "--name", "N"]);
    await admin(stack, ["users", "remove", "--email", email]);
    await admin(stack, ["links", "disable", "--host", host]);
    await admin(stack, ["links", "enable", "--host", host]);
    const after = (await listInstallation()).filter(({ id }) => !before.has(id)).toReversed();
    expect(after.map(({ type, data }) => data["command"] ?? type)).toEqual([
      "user.created",
      "users remove",
      "links disable",
      "links enable",
    ]);
    for (const event of after) requireHarmless(event);
  });

  test("nobody: a sign-in with an address that nobody has is counted by day, and is no entry", async () => {
    const count = async (): Promise<number> =>
      (await admin<{ count: number }[]>(stack, ["audit", "sign-ins"])).reduce(
        (sum, day) => sum + day.count,
        0,
      );
    const [before, entries] = [await count(), await listInstallation()];
    const after = await latest();
    const nobody = { email: `${newName()}@example.com`, password: "no password at all" };
    expect((await trySignIn(stack, nobody)).status).toBe(401);
    expect(await count()).toBe(before + 1);
    expect(await listInstallation()).toEqual(entries);
    expect((await read(`starting_after=${after}`)).data).toEqual([]);
  });

  test("no route that is missing in the table", () => {
    const changing = listRoutes()
      .filter(({ surface }) => surface === "api" || surface === "dashboard")
      .filter(({ method }) => !["GET", "HEAD", "OPTIONS"].includes(method))
      // Both sites have the resources of /v1.
      .map(({ method, path }) => `${method} ${path.replace("/api/:account/:mode/v1", "/v1")}`);
    expect([...new Set(changing)].toSorted()).toEqual(Object.keys(ROUTES).toSorted());
  });

  test("no command that is missing in the table", () => {
    const leaves = ({ commands }: Command, path: readonly string[]): string[] =>
      commands.flatMap((command) => {
        const words = [...path, command.name()];
        return command.commands.length > 0 ? leaves(command, words) : words.join(" ");
      });
    const commands = leaves(buildProgram({}), []).filter((name) => !PROCESSES.has(name));
    expect(commands.toSorted()).toEqual(Object.keys(COMMANDS).toSorted());
  });
});

describe("an event", () => {
  test("has the resource, what changed, and who changed it; never a secret", async () => {
    const after = await latest();
    const { id } = await create({ title: "before", password: "correct horse", tags: ["a"] });
    await session.send(`/api/${account.id}/live/v1/links/${id}`, {
      method: "PATCH",
      body: { title: "after", password: "another horse" },
    });
    const keyBody = { name: "of a test", scopes: ["links:read"] };
    const { key } = z.object({ key: z.string() }).parse(await send("/v1/keys", "POST", keyBody));
    const { token } = z.object({ token: z.string() }).parse(await send("/v1/shares", "POST", {}));
    const { data } = await read(`starting_after=${after}&limit=100`);
    const link = { id, title: "before", tags: ["a"], has_password: true };
    expect(data).toMatchObject([
      { type: "link.created", mode: "live", data: { link }, actor: { type: "api_key" } },
      {
        type: "link.updated",
        data: {
          link: { ...link, title: "after" },
          changes: {
            title: { before: "before", after: "after" },
            password: { before: "set", after: "set" },
          },
        },
        actor: { type: "user", id: owner.id },
      },
      { type: "key.created", data: { key: { name: "of a test" } } },
      { type: "share.created", data: { share: { link_id: null } } },
    ]);
    const { short_url } = z
      .object({ short_url: z.string() })
      .parse(await send(`/v1/links/${id}`, "GET"));
    expect(data[0]?.data["link"]).toMatchObject({ short_url });
    const text = JSON.stringify(data);
    for (const secret of ["horse", "$argon2", key, token]) expect(text).not.toContain(secret);
  });

  test("is found by type and link, and a request waits for it", async () => {
    const after = await latest();
    const { id } = await create();
    const waiting = read(`starting_after=${after}&wait=20&link_id=${id}&type=link.deleted`);
    await create();
    await send(`/v1/links/${id}`, "DELETE");
    const { data } = await waiting;
    expect(data.map(({ type }) => type)).toEqual(["link.deleted"]);
  });

  test("is also that of an expiry", async () => {
    const after = await latest();
    const expires_at = new Date(Date.now() + 1_500).toISOString();
    const { id } = await create({ expires_at });
    let page = await read(`starting_after=${after}&type=link.expired&wait=20`);
    while (page.data.length === 0)
      page = await read(`starting_after=${page.next_cursor}&type=link.expired&wait=20`);
    expect(page.data).toMatchObject([
      { data: { link: { id, status: "expired" } }, actor: { type: "system" } },
    ]);
  });
});
