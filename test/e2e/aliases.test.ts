/**
 * Goal: an alias in any script, with dots, emoji and slashes, is the same link everywhere: in
 * redirects, look-ups, codes, lists, bulk requests, webhooks, other products' APIs and takedowns.
 */
import { expect, test } from "bun:test";

import * as z from "zod";

import { admin } from "../harness/admin.ts";
import { call, rawRequest } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { OwnLinks } from "../harness/own-links.ts";
import { readQr } from "../harness/qr-reader.ts";
import { useStack } from "../harness/stack.ts";
import { WebhookReceiver } from "../harness/webhook-receiver.ts";

const WITHIN_MS = 20_000;

const stack = await forFile(useStack());
const account = await OwnLinks.start(stack);
const receiver = await forFile(new WebhookReceiver());
const webhook = { url: receiver.url, events: ["link.created"] };
expect((await account.send("/v1/webhooks", "POST", webhook)).status).toBe(201);

/** Different in each run: the service's own domain has each alias once. */
const MARK = crypto.randomUUID().slice(0, 8);

/** An alias as it is given, and as the path of its short URL has it. */
const ALIASES: readonly [what: string, alias: string, path: string][] = [
  ["with segments", `2024/spring-${MARK}`, `2024/spring-${MARK}`],
  ["with dots", `v1.2-${MARK}.html`, `v1.2-${MARK}.html`],
  ["with a tilde", `~me-${MARK}`, `~me-${MARK}`],
  ["with accents", `résumé-${MARK}`, `r%C3%A9sum%C3%A9-${MARK}`],
  [
    "in Devanagari",
    `नमस्ते${MARK}`,
    `%E0%A4%A8%E0%A4%AE%E0%A4%B8%E0%A5%8D%E0%A4%A4%E0%A5%87${MARK}`,
  ],
  ["from right to left", `${MARK}/سلام`, `${MARK}/%D8%B3%D9%84%D8%A7%D9%85`],
  ["of emoji", `${MARK}👩‍💻❤️`, `${MARK}%F0%9F%91%A9%E2%80%8D%F0%9F%92%BB%E2%9D%A4%EF%B8%8F`],
];

const linkSchema = z.looseObject({ id: z.string(), alias: z.string(), short_url: z.string() });

const ask = async (path: string) => (await account.send(path, "GET")).body;

const query = (fields: Record<string, string>) => new URLSearchParams(fields).toString();

const idsSchema = z.object({ data: z.array(z.object({ id: z.string() })) });

const search = async (text: string) =>
  idsSchema.parse(await ask(`/v1/links?${query({ search: text })}`)).data.map(({ id }) => id);

const toLatin1 = (text: string) => Buffer.from(text).toString("latin1");

test.each(ALIASES)("an alias %s is one link everywhere", async (_what, alias, path) => {
  const origin = stack.info().short_url;
  const created = linkSchema.parse(await account.create({ alias: alias.normalize("NFD") }));
  expect(created).toMatchObject({ alias, short_url: `${origin}/${path}` });
  const { id } = created;
  await checkLookUps(id, alias, path);
  await checkCodeAndEvents(id, alias, path);
  await checkBulkAndProducts(alias, path);
  const clicks = await checkRedirects(alias, path);
  await checkTakedown(alias, path);
  await eventually(
    async () => expect((await account.read(id))["clicks"]).toBeGreaterThanOrEqual(clicks),
    WITHIN_MS,
  );
});

/** Follows a link by each spelling; returns how many clicks these are. */
async function checkRedirects(alias: string, path: string): Promise<number> {
  const origin = stack.info().short_url;
  const forms = [
    path,
    path.replaceAll(/%../g, (escape) => escape.toLowerCase()),
    toLatin1(alias),
    toLatin1(alias.normalize("NFD")),
    encodeURIComponent(alias.normalize("NFD")).replaceAll("%2F", "/"),
    `${path}/`,
    `${path}%20`,
  ];
  for (const form of forms) {
    const { status, location } = await rawRequest(origin, `/${form}`);
    expect([form, status, location]).toEqual([form, 302, "https://example.com/plain"]);
  }
  if (path.includes("/"))
    expect((await rawRequest(origin, `/${path.replace("/", "%2F")}`)).status).toBe(404);
  return forms.length;
}

async function checkLookUps(id: string, alias: string, path: string): Promise<void> {
  const origin = stack.info().short_url;
  const { host } = new URL(origin);
  const found = expect.objectContaining({ id, alias });
  expect(await ask(`/v1/links/lookup?${query({ alias: alias.normalize("NFD") })}`)).toEqual(found);
  for (const url of [`${origin}/${path}`, `${host}/${alias}`, `${host}/${path}/`])
    expect(await ask(`/v1/links/lookup?${query({ short_url: url })}`)).toEqual(found);
  for (const text of [alias, `${host}/${path}`, `${origin}/${alias}`])
    expect([text, await search(text)]).toEqual([text, [id]]);
  expect(await ask(`/v1/links?${query({ alias })}`)).toMatchObject({ data: [{ id, alias }] });
}

async function checkCodeAndEvents(id: string, alias: string, path: string): Promise<void> {
  const origin = stack.info().short_url;
  const response = await fetch(`${stack.info().api_url}/v1/links/${id}/qr?format=svg`, {
    headers: { authorization: `Bearer ${account.key}` },
  });
  const text = await readQr("image/svg+xml", await response.text());
  expect(text?.startsWith(`${origin}/${path}?`)).toBeTrue();
  const link = { alias, short_url: `${origin}/${path}` };
  await eventually(
    async () =>
      expect(receiver.got.map(({ body }): unknown => JSON.parse(body))).toContainEqual(
        expect.objectContaining({ data: { link: expect.objectContaining(link) } }),
      ),
    WITHIN_MS,
  );
  await eventually(
    async () =>
      expect(await ask(`/v1/events?${query({ link_id: id, type: "link.created" })}`)).toMatchObject(
        { data: [{ data: { link } }] },
      ),
    WITHIN_MS,
  );
}

/** The alias is taken in a bulk request, and other products' APIs find it. */
async function checkBulkAndProducts(alias: string, path: string): Promise<void> {
  const { api_url, short_url: origin } = stack.info();
  const url = "https://example.com/";
  const bulk = await account.send("/v1/links/bulk", "POST", {
    links: [
      { url, alias: alias.normalize("NFD") },
      { url, alias: `2-${alias}` },
    ],
  });
  expect(bulk.body).toMatchObject({
    data: [{ error: { code: "alias_taken" } }, { link: { alias: `2-${alias}` } }],
  });
  const shlink = await call(`${api_url}/rest/v3/short-urls/${encodeURIComponent(alias)}`, {
    headers: { "x-api-key": account.key },
  });
  expect(shlink.body).toMatchObject({ shortCode: alias, shortUrl: `${origin}/${path}` });
  for (const bitlink of [`bit.ly/${path}`, `bit.ly/${path}/clicks/summary`])
    expect((await account.send(`/v4/bitlinks/${bitlink}`, "GET")).status).toBe(200);
  for (const shorturl of [alias, `${origin}/${path}`]) {
    const fields = { signature: account.key, format: "json", action: "expand", shorturl };
    const expanded = await call(`${api_url}/yourls-api.php?${query(fields)}`);
    expect(expanded.body).toMatchObject({ keyword: alias, longurl: "https://example.com/plain" });
  }
}

async function checkTakedown(alias: string, path: string): Promise<void> {
  const becomes = (status: number) =>
    eventually(
      async () =>
        expect((await rawRequest(stack.info().short_url, `/${path}`)).status).toBe(status),
      WITHIN_MS,
    );
  const taken = await admin(stack, ["links", "disable", "--alias", path]);
  expect(taken).toMatchObject({ alias, disabled: true });
  await becomes(451);
  await admin(stack, ["links", "enable", "--alias", alias]);
  await becomes(302);
}

test("a link at a longer path redirects as soon as it is there, also beside a link that forwards nothing", async () => {
  const { alias } = await account.create();
  for (let i = 0; i < 10; i++) {
    expect((await rawRequest(stack.info().short_url, `/${alias}/${i}`)).status).toBe(404);
    await account.create({ alias: `${alias}/${i}` });
    expect((await rawRequest(stack.info().short_url, `/${alias}/${i}`)).status).toBe(302);
  }
});

test("an alias that nobody could type is refused", async () => {
  expect((await account.refuse({ alias: "a\u202eb" })).slice(0, 2)).toEqual([400, "invalid_alias"]);
});

test("a path is forwarded by its first segment, so no longer alias forwards one", async () => {
  const both = { alias: `${MARK}/forwarding`, forward_path: "append" };
  expect((await account.refuse(both)).slice(0, 2)).toEqual([400, "invalid_request"]);
  const { id } = await account.create({ alias: both.alias });
  const changed = await account.send(`/v1/links/${id}`, "PATCH", { forward_path: "append" });
  expect(changed.status).toBe(400);
  const forwarding = await account.create({ forward_path: "append" });
  const renamed = await account.send(`/v1/links/${forwarding.id}`, "PATCH", { alias: `${MARK}/x` });
  expect(renamed.status).toBe(400);
});
