/**
 * Goal: everything that changes what an account owns is one event, whatever made the change; and
 * the feed tells it. Method: a table of every route and command that changes anything, with what
 * each records, or why it records nothing; one that is not in the table fails the test.
 */
import { describe, expect, test } from "bun:test";

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

const ask = (path: string, options = {}) =>
  call(`${stack.info().api_url}/v1/${path}`, { key: account.key, ...options });

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

const invite = async (email: string): Promise<{ id: string; token: string }> =>
  z.object({ id: z.string(), token: z.string() }).parse(
    (
      await session.send(`/api/${account.id}/invitations`, {
        method: "POST",
        body: { email, role: "member" },
      })
    ).body,
  );

/** What a route or command records: the types of its events in order; or why it records nothing. */
type Recorded =
  | {
      records: readonly string[];
      /** Makes what the change needs, and returns the change, which the feed's end comes before. */
      change: () => Promise<() => Promise<unknown>>;
    }
  | { none: string };

/** A change of what `make` has made, or of nothing. */
const records = <Made>(
  types: string,
  make: () => Made | Promise<Made>,
  change: (made: Made) => Promise<unknown>,
): Recorded => ({
  records: types.split(" "),
  async change() {
    const made = await make();
    return () => change(made);
  },
});

const nothing = (): undefined => undefined;

const CODES = "It needs the app of a second factor: api/sessions/second-factor.test.ts.";

const PASSKEYS = "It needs an authenticator: api/sessions/passkeys.test.ts.";

const READS = "It reads, and changes nothing.";

/** Those that record nothing: their names, with commas between. */
const none = (reason: string, names: string): Record<string, Recorded> =>
  Object.fromEntries(names.split(/,\s+/).map((name) => [name, { none: reason }]));

const viewChanges = (path: string, query: string): Record<string, Recorded> => ({
  [`PUT ${path}/:name`]: records("view.saved", newName, (name) =>
    send(`${path}/${name}`, "PUT", { query }),
  ),
  [`DELETE ${path}/:name`]: records(
    "view.deleted",
    async () => {
      const name = newName();
      await send(`${path}/${name}`, "PUT", { query });
      return name;
    },
    (name) => send(`${path}/${name}`, "DELETE"),
  ),
});

const createWebhook = async (path = "/secret-path"): Promise<string> =>
  found.parse(
    await send("/v1/webhooks", "POST", { url: `${HOOK}${path}`, events: ["link.created"] }),
  ).id;

const HOOK = "https://hooks.example.com";

const addMember = () => createUser(stack, account.id, "member");

const signInAsMember = async (): Promise<{ user: TestUser; theirs: Session }> => {
  const user = await addMember();
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
  [route]: records(types, typeof of === "string" ? () => make(of) : of, async (id) => {
    const [method = "", path = ""] = route.replace(":id", id).split(" ");
    for (let i = 0; i < times; i++) await send(path, method, body);
  }),
});

const members = (path: string, method: string, body?: Json) =>
  session.send(`/api/${account.id}/members/${path}`, {
    method,
    ...(body === undefined ? {} : { body }),
  });

/** A link with an external id, by which it is changed. */
const createExternal = async (): Promise<string> => {
  const external_id = newName();
  await create({ external_id });
  return `/v1/links/external/${external_id}`;
};

/** Links with a tag: the first has no other, the second one has. */
const createTagged = async (count: number): Promise<string> => {
  const tag = newName();
  for (const tags of [[tag], [tag, "kept"]].slice(0, count)) await create({ tags });
  return tag;
};

const two = async () => [await create(), await create()] as const;

const ROUTES: Readonly<Record<string, Recorded>> = {
  ...none(
    CODES,
    `POST /auth/sign-in/code, POST /auth/second-factor/confirm,
    POST /auth/second-factor/recovery-codes, POST /auth/second-factor/remove`,
  ),
  ...none(
    PASSKEYS,
    `POST /auth/passkeys, POST /auth/passkeys/:id/remove, POST /auth/passkeys/sign-in`,
  ),
  ...none(
    READS,
    `POST /v1/links/bulk/check, POST /v1/links/:id/explain, POST /v1/analytics/bulk,
    POST /v1/shared/:token/access, POST /shared/:token`,
  ),
  "POST /v1/links": records("link.created", nothing, () => create()),
  "POST /v1/links/bulk": records("link.created link.created", nothing, () =>
    send("/v1/links/bulk", "POST", { links: [{ url }, { url: "no" }, { url }] }),
  ),
  "PATCH /v1/links/bulk": records(
    "link.updated link.updated",
    async () => [...(await two()), await create({ title: "new" })],
    (made) =>
      send("/v1/links/bulk", "PATCH", { links: made.map(({ id }) => ({ id, title: "new" })) }),
  ),
  "POST /v1/links/bulk/delete": records("link.deleted link.deleted", two, ([a, b]) =>
    send("/v1/links/bulk/delete", "POST", { ids: [a.id, b.id, "link_none"] }),
  ),
  "PUT /v1/links/external/:external_id": records(
    "link.created link.updated",
    newName,
    async (name) => {
      for (const change of [{}, { title: "changed" }, { title: "changed" }])
        await send(`/v1/links/external/${name}`, "PUT", { url, ...change });
    },
  ),
  "PATCH /v1/links/external/:external_id": records("link.updated", createExternal, (path) =>
    send(path, "PATCH", { title: "changed" }),
  ),
  "DELETE /v1/links/external/:external_id": records("link.deleted", createExternal, (path) =>
    send(path, "DELETE"),
  ),
  // The second change is without effect.
  ...changesOf("PATCH /v1/links/:id", "link.updated", "link", { title: "changed" }, 2),
  ...changesOf("DELETE /v1/links/:id", "link.deleted", "link"),
  "PATCH /v1/tags/:name": records(
    "link.updated",
    () => createTagged(1),
    (tag) => send(`/v1/tags/${tag}`, "PATCH", { name: newName() }),
  ),
  "DELETE /v1/tags/:name": records(
    "link.updated link.updated",
    () => createTagged(2),
    (tag) => send(`/v1/tags/${tag}`, "DELETE"),
  ),
  "POST /v1/tags/merge": records(
    "link.updated",
    async () => [await createTagged(1), await createTagged(1)],
    ([tag, into]) => send("/v1/tags/merge", "POST", { tags: [tag], into }),
  ),
  "POST /v1/domains": records("domain.created", nothing, () => make("domain")),
  ...changesOf("POST /v1/domains/:id/verify", "domain.verified", "domain", undefined, 2),
  ...changesOf("PATCH /v1/domains/:id", "domain.updated", "proven", { root_url: url }, 2),
  ...changesOf("DELETE /v1/domains/:id", "domain.deleted", "domain"),
  "POST /v1/keys": records("key.created", nothing, () => make("key")),
  ...changesOf("DELETE /v1/keys/:id", "key.revoked", "key", undefined, 2),
  ...changesOf("POST /v1/keys/:id/rotate", "key.rotated", "key", {}),
  "POST /keys/report": records(
    "key.revoked",
    () => send("/v1/keys", "POST", { name: "reported", scopes: ["links:read"] }),
    async (made) => {
      for (let i = 0; i < 2; i++) await send("/keys/report", "POST", { keys: [made["key"]] });
    },
  ),
  "POST /v1/shares": records("share.created", nothing, () => make("share")),
  ...changesOf("PATCH /v1/shares/:id", "share.updated", "share", { name: "changed" }, 2),
  ...changesOf("POST /v1/shares/:id/rotate", "share.updated", "share", {}),
  ...changesOf("DELETE /v1/shares/:id", "share.revoked", "share"),
  "PATCH /v1/branding": records("branding.updated", newName, (name) =>
    send("/v1/branding", "PATCH", { name }),
  ),
  "POST /v1/webhooks": records("webhook.created", nothing, () => createWebhook()),
  ...changesOf("PATCH /v1/webhooks/:id", "webhook.updated", createWebhook, {
    description: "changed",
  }),
  ...changesOf("DELETE /v1/webhooks/:id", "webhook.deleted", createWebhook),
  ...changesOf("POST /v1/webhooks/:id/rotate", "webhook.rotated", createWebhook),
  "POST /v1/webhooks/:id/replay": records(
    "webhook.replayed",
    async () => [await createWebhook(), (await read("order=desc&limit=1")).data[0]?.id] as const,
    ([id, event]) => send(`/v1/webhooks/${id}/replay`, "POST", { starting_after: event ?? "" }),
  ),
  "POST /v1/webhooks/:id/deliveries/:delivery/retry": {
    none: "What is delivered, or when it is tried, changes nothing.",
  },
  ...changesOf("POST /v1/webhooks/:id/test", "webhook.test", () => createWebhook("/")),
  "POST /report-link": { none: "Visitors', who change nothing; the queue has it." },
  "POST /unsubscribe/:token": {
    none: "A token of a mail is needed: api/mail/queue.test.ts has it.",
  },
  "POST /v1/reports": records("report.created", nothing, () => make("report")),
  ...changesOf("PATCH /v1/reports/:id", "report.updated", "report", { name: "changed" }),
  ...changesOf("DELETE /v1/reports/:id", "report.deleted", "report"),
  ...changesOf("POST /v1/reports/:id/send", "report.ready", "report"),
  ...viewChanges("/v1/views", "period=7d"),
  ...viewChanges("/v1/link-filters", "tag=a"),
  ...viewChanges("/v1/utm-templates", "utm_source=a"),
  "PATCH /api/:account/members/:id": records("member.updated", addMember, async ({ id }) => {
    for (let i = 0; i < 2; i++) await members(id, "PATCH", { role: "viewer" });
  }),
  "DELETE /api/:account/members/:id": records("member.removed", addMember, ({ id }) =>
    members(id, "DELETE"),
  ),
  "POST /api/:account/members/:id/password-resets": records(
    "member.reset_link_created",
    addMember,
    ({ id }) => members(`${id}/password-resets`, "POST"),
  ),
  "PUT /api/:account/members/second-factor": records("account.updated", nothing, () =>
    members("second-factor", "PUT", { roles: [] }),
  ),
  "POST /api/:account/invitations": records("member.invited", newName, (name) =>
    invite(`${name}@example.com`),
  ),
  "DELETE /api/:account/invitations/:id": records(
    "member.invitation_withdrawn",
    () => invite(`${newName()}@example.com`),
    ({ id }) => session.send(`/api/${account.id}/invitations/${id}`, { method: "DELETE" }),
  ),
  "POST /auth/invitations/:token/accept": records(
    "member.joined",
    async () => {
      const invited = await createUser(stack);
      return { ...(await invite(invited.email)), theirs: await signIn(stack, invited) };
    },
    ({ token, theirs }) =>
      theirs.send(`/auth/invitations/${token}/accept`, { method: "POST", body: {} }),
  ),
  "POST /auth/sign-in": records("session.started session.refused", addMember, async (user) => {
    await signIn(stack, user);
    await signIn(stack, { ...user, password: "wrong password" }).catch(() => undefined);
  }),
  "POST /auth/second-factor": { none: "Nothing has changed until it is confirmed." },
  "POST /auth/passkeys/options": { none: "Nothing has changed until the passkey is added." },
  "POST /auth/passkeys/challenge": { none: "Nothing has changed until it is answered." },
  "POST /auth/oidc": { none: "Nothing has changed until the provider sends somebody back." },
  "DELETE /auth/devices/:id": records(
    "session.ended",
    async () => {
      const { user, theirs } = await signInAsMember();
      await signIn(stack, user);
      const { data } = z
        .object({ data: z.array(z.object({ id: z.string(), current: z.boolean() })) })
        .parse((await theirs.send("/auth/devices")).body);
      return { theirs, id: data.find(({ current }) => !current)?.id };
    },
    ({ theirs, id }) => theirs.send(`/auth/devices/${id}`, { method: "DELETE" }),
  ),
  "POST /auth/sign-out": records("session.ended", signInAsMember, ({ theirs }) =>
    theirs.send("/auth/sign-out", { method: "POST" }),
  ),
  "POST /auth/sign-out-everywhere": records("session.ended", signInAsMember, ({ theirs }) =>
    theirs.send("/auth/sign-out-everywhere", { method: "POST" }),
  ),
  "POST /auth/password": records("user.password_changed", signInAsMember, ({ user, theirs }) => {
    const body = { current_password: user.password, new_password: "a-quite-new-one-73" };
    return theirs.send("/auth/password", { method: "POST", body });
  }),
  "POST /auth/password-resets": {
    none: "It must take as long for an address of nobody; the use of the link is recorded.",
  },
  "POST /auth/password-resets/:token": records(
    "user.password_changed",
    async () => {
      const { user, theirs } = await signInAsMember();
      const { body } = await members(`${user.id}/password-resets`, "POST");
      return { theirs, ...z.object({ token: z.string() }).parse(body) };
    },
    ({ theirs, token }) =>
      theirs.send(`/auth/password-resets/${token}`, { body: { password: "a-quite-new-one-73" } }),
  ),
};

const ELSEWHERE = "It needs streams or another machine; Installation.recordCommand records it.";

/** Runs a command, of which no word has a blank. */
/** Runs a command of words; the last argument may have spaces. */
const run = (words: string, ...last: string[]): Promise<unknown> =>
  admin(stack, [...words.split(" "), ...last]);

const emailOfMember = async (): Promise<string> => (await addMember()).email;

const COMMANDS: Readonly<Record<string, Recorded>> = {
  ...none(
    READS,
    `accounts budgets, accounts list, import list, reviews list, audit list, audit sign-ins,
    audit verify, keys list, users list, links disabled, status, dlq list, region check,
    reconcile, journal, backup drill, backup list, config check, doctor`,
  ),
  ...none(
    ELSEWHERE,
    `import undo, import resume, links adopt, links resync, dlq retry, dlq drop, region mirror,
    region collect, region forget, restore, upgrade, migrate`,
  ),
  "accounts erase": { none: "The account is gone: test/scenarios/erasure.test.ts." },
  "accounts erase-clicks": { none: "It takes minutes: test/scenarios/erasure.test.ts." },
  "accounts export": records("operator.command", nothing, () =>
    run(
      `accounts export ${account.id} --out ${createTemporaryDir("shorthop-export-")}/account.ndjson`,
    ),
  ),
  "accounts create": { none: "The account has no feed before; its own begins with it." },
  "accounts set-plan": records("account.updated", nothing, () =>
    run(`accounts set-plan ${account.id} --plan enterprise --limits`, JSON.stringify(UNLIMITED)),
  ),
  "accounts suspend": records("account.updated", nothing, () =>
    run(`accounts suspend ${account.id} --minutes 0`),
  ),
  ...Object.fromEntries(
    SOURCES.map(({ name }): [string, Recorded] => [`import ${name}`, { none: ELSEWHERE }]),
  ),
  "reviews keep": { none: "Only what waits in the queue: api/reviews/service.test.ts." },
  "reviews take-down": { none: "As links disable, which records it." },
  "keys create": records("key.created", nothing, () =>
    run(`keys create --account ${account.id} --name n --scopes links:read`),
  ),
  "keys revoke": records(
    "key.revoked",
    () => make("key"),
    (id) => run(`keys revoke ${id}`),
  ),
  "keys rotate": records(
    "key.rotated",
    () => make("key"),
    (id) => run(`keys rotate ${id}`),
  ),
  "users create": records("member.joined", newName, (name) =>
    run(`users create --email ${name}@example.com --name N --account ${account.id}`),
  ),
  "users set-password": records("user.password_changed", emailOfMember, (email) =>
    run(`users set-password --email ${email}`),
  ),
  "users remove-second-factor": { none: CODES },
  "users reset-link": records("member.reset_link_created", emailOfMember, (email) =>
    run(`users reset-link --email ${email}`),
  ),
  "users join": records(
    "member.joined member.updated",
    () => createUser(stack),
    async ({ email }) => {
      for (const role of ["member", "member", "viewer"])
        await run(`users join --email ${email} --account ${account.id} --role ${role}`);
    },
  ),
  "users remove": records("member.removed", emailOfMember, (email) =>
    run(`users remove --email ${email}`),
  ),
  "links disable": records("link.taken_down account.taken_down", create, async ({ alias }) => {
    for (let i = 0; i < 2; i++) await run(`links disable --alias ${alias}`);
    await run(`links disable --account ${account.id}`);
    await run(`links disable --host ${TAKEN_DOWN_HOST}`);
  }),
  "links enable": records(
    "account.restored link.restored",
    async () => {
      const { alias } = await create();
      await run(`links disable --alias ${alias}`);
      await run(`links disable --account ${account.id}`);
      return alias;
    },
    async (alias) => {
      await run(`links enable --account ${account.id}`);
      await run(`links enable --alias ${alias}`);
    },
  ),
  "links keys": { none: "prints a new pair of keys, and changes nothing" },
  "domains release": records(
    "domain.displaced",
    async () => {
      const { id, domain } = await resources.createDomain(account.key);
      await send(`/v1/domains/${id}/verify`, "POST");
      return domain;
    },
    (domain) => run(`domains release ${domain}`),
  ),
  "check-rollups": { none: "It reads; with --repair it is recorded." },
  setup: { none: "makes its account, key and user as the commands for each do" },
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
    await run("users create --email alone@example.com --name N");
    await run("users remove --email alone@example.com");
    await run("links disable --host disabled.example.org");
    await run("links enable --host disabled.example.org");
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
    const nobody = { email: "nobody@example.com", password: "no password at all" };
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

  test("of a type that does not exist is refused, to read and to a webhook, and those that do are named", async () => {
    const id = await createWebhook();
    const url = "https://hooks.example.com/";
    for (const [response, param] of [
      [
        await ask("webhooks", { body: { url, events: ["link.created", "link.opened"] } }),
        "events.1",
      ],
      [await ask(`webhooks/${id}`, { method: "PATCH", body: { events: ["links.*"] } }), "events.0"],
      [await ask("events?type=link.created&type=link.opened"), "type"],
    ] as const) {
      expect(response).toMatchObject({ status: 400, body: { error: { param } } });
      expect(JSON.stringify(response.body)).toContain("link.deleted");
    }
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
