/**
 * Creates the attackers' and the legitimate client's data in the stack: accounts, keys, sessions,
 * links.
 */
import * as z from "zod";

import { newUuid } from "../../shared/ids.ts";
import { createAccount, UNLIMITED } from "../harness/admin.ts";
import { call, linkSchema } from "../harness/api.ts";
import { createUser, signIn } from "../harness/dashboard.ts";
import { createPng } from "../harness/png.ts";
import type { SharedStack } from "../harness/stack.ts";
import type { ClientTask } from "./legitimate-client.ts";
import type { Fixtures } from "./requests.ts";

/** Enough for the attack's rate: `user_requests` counts those of all sessions of a user. */
const USERS = 12;

const CLIENT_LINKS = 20;

const created = z.object({ id: z.string() });

/**
 * The attackers' account is a new one without limits, unless there is one already, which may have
 * fixtures of earlier runs.
 */
export async function createFixtures(
  stack: SharedStack,
  existing?: { id: string; key: string },
): Promise<Fixtures> {
  const { api_url: api, dashboard_url: dashboardOrigin } = stack.info();
  const { id: account, key } = existing ?? (await createAccount(stack, "enterprise", UNLIMITED));
  const { key: freeKey } = await createAccount(stack, "free");
  const create = async (path: string, body: unknown): Promise<string> =>
    created.parse((await call(`${api}/v1/${path}`, { key, body })).body).id;
  const name = existing === undefined ? "attacked" : `attacked-${newUuid().slice(-8)}`;
  const url = "https://example.com/path?own=1";
  const linkId = await create("links", { url, alias: `${name}-plain` });
  await create("links", { url, alias: `${name}-forwarding`, forward_query: true });
  await create("links", { url, alias: `${name}-protected`, password: "a password" });
  const domain = await create("domains", { domain: `${name}.example.com` });
  const spare = await create("keys", { name: "spare", scopes: ["links:read"] });
  const hook = { url: "https://hooks.example.com/", events: ["*"] };
  const webhook = await create("webhooks", hook);
  const tested = await call(`${api}/v1/webhooks/${webhook}/test`, { key, method: "POST" });
  const report = await create("reports", { name, period: "weekly" });
  // So that QR codes can have it.
  const logo = createPng(512, 512).toString("base64");
  const branded = await call(`${api}/v1/branding`, { key, method: "PATCH", body: { logo } });
  if (branded.status !== 200) throw new Error(`No logo: ${branded.status}`);
  const signInNew = async () => await signIn(stack, await createUser(stack, account));
  const member = await createUser(stack, account, "member");
  const cookies: [string, ...string[]] = [(await signInNew()).cookie];
  while (cookies.length < USERS) cookies.push((await signInNew()).cookie);
  const ended = await signInNew();
  await ended.send("/auth/sign-out", { method: "POST" });
  return {
    enterpriseKey: key,
    freeKey,
    cookies,
    endedCookie: ended.cookie,
    dashboardOrigin,
    linkId,
    paths: {
      account,
      mode: "live",
      plain: `${name}-plain`,
      forwarding: `${name}-forwarding`,
      protected: `${name}-protected`,
      missing: "nothing-is-here",
      nested: "a",
      path: "b",
      other: "nothing",
      asset: "start.js",
      token: "not-a-token",
      "domains/id": domain,
      "keys/id": spare,
      "members/id": member.id,
      "tags/name": "attacked-tag",
      external_id: "attacked-order",
      "views/name": "attacked-view",
      "link-filters/name": "attacked-filter",
      "utm-templates/name": "attacked-template",
      "webhooks/id": webhook,
      "reports/id": report,
      "deliveries/delivery": created.parse(tested.body).id,
    },
  };
}

/** Creates a separate account with links for the legitimate client. */
export async function createClientTask(stack: SharedStack): Promise<ClientTask> {
  const { api_url: apiUrl, short_url: shortUrl } = stack.info();
  const { key } = await createAccount(stack, "enterprise", UNLIMITED);
  const links: ClientTask["links"] = [];
  for (let i = 0; i < CLIENT_LINKS; i++) {
    const destination = `https://legitimate.example/${i}`;
    const { body } = await call(`${apiUrl}/v1/links`, {
      key,
      body: { url: destination, alias: `legitimate-${i}`, forward_query: true },
    });
    links.push({ id: linkSchema.parse(body).id, alias: `legitimate-${i}`, destination });
  }
  return { apiUrl, shortUrl, key, links };
}
