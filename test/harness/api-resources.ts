/** One resource of each kind that routes are about, as an account makes them by the API. */
import { expect } from "bun:test";

import * as z from "zod";

import { call } from "./api.ts";
import type { Dns } from "./dns.ts";
import type { SharedStack } from "./stack.ts";

/** Ids and names of what does not exist. */
export const NO_RESOURCES = {
  link: "link_none",
  alias: "none",
  tag: "none",
  domain: "dom_none",
  proven: "dom_none",
  share: "shr_none",
  token: "none",
  view: "none",
  key: "key_none",
  webhook: "wh_none",
  delivery: "dlv_none",
  event: "event_none",
  external: "order-none",
  report: "rpt_none",
};

export type Resources = Record<keyof typeof NO_RESOURCES, string>;

const created = z.object({ id: z.string() });

export class ApiResources {
  readonly #stack: SharedStack;
  readonly #dns: Dns;
  readonly #onSecret: (secret: string) => void;

  /** Calls `onSecret` with what nobody may see again. */
  constructor(stack: SharedStack, dns: Dns, onSecret: (secret: string) => void = () => undefined) {
    this.#stack = stack;
    this.#dns = dns;
    this.#onSecret = onSecret;
  }

  /** Makes those that a text names, as `:link`; of the others it returns what is not there. */
  async create(owner: string, text: string): Promise<Resources> {
    const makers: [RegExp, (owner: string) => Promise<Partial<Resources>>][] = [
      [/:(?:link|alias|tag|external)/, (key) => this.#createLink(key)],
      [/:key/, (key) => this.#createKey(key)],
      [/:domain/, async (key) => ({ domain: (await this.createDomain(key)).id })],
      [/:proven/, (key) => this.#createProven(key)],
      [/:(?:share|token)/, (key) => this.#createShare(key)],
      [/:view/, (key) => this.#createView(key)],
      [/:report/, (key) => this.#createReport(key)],
      [/:(?:webhook|delivery|event)/, (key) => this.#createWebhook(key)],
    ];
    const needed = makers.filter(([names]) => names.test(text));
    const made = await Promise.all(needed.map(([, make]) => make(owner)));
    return Object.assign({}, NO_RESOURCES, ...made);
  }

  /** Makes a domain that can be verified. */
  async createDomain(owner: string): Promise<{ id: string; domain: string }> {
    const domain = `target-${crypto.randomUUID()}.example.com`;
    const made = await this.#create(owner, "/v1/domains", { domain });
    const record = z.object({ name: z.string(), value: z.string() });
    const { id, verification } = created.extend({ verification: record }).parse(made);
    this.#dns.set(verification.name, [verification.value]);
    return { id, domain };
  }

  async #createLink(owner: string) {
    const [tag, external] = [crypto.randomUUID(), crypto.randomUUID()];
    const body = { url: "https://example.com/target", tags: [tag], external_id: external };
    const made = await this.#create(owner, "/v1/links", body);
    const { id: link, alias } = created.extend({ alias: z.string() }).parse(made);
    return { link, alias, tag, external };
  }

  async #createKey(owner: string) {
    const body = { name: "target", scopes: ["links:read"] };
    const made = await this.#create(owner, "/v1/keys", body);
    const { id, key } = created.extend({ key: z.string() }).parse(made);
    this.#onSecret(key);
    return { key: id };
  }

  async #createProven(owner: string) {
    const { id: proven } = await this.createDomain(owner);
    await this.#call(owner, `/v1/domains/${proven}/verify`, "POST");
    return { proven };
  }

  async #createShare(owner: string) {
    const made = await this.#create(owner, "/v1/shares", {});
    const { id: share, token } = created.extend({ token: z.string() }).parse(made);
    this.#onSecret(token);
    return { share, token };
  }

  async #createView(owner: string) {
    const view = `view-${crypto.randomUUID()}`;
    for (const kind of ["views", "link-filters", "utm-templates"])
      await this.#call(owner, `/v1/${kind}/${view}`, "PUT", { query: "" });
    return { view };
  }

  async #createReport(owner: string) {
    const body = { name: `report-${crypto.randomUUID()}`, period: "monthly" };
    return { report: created.parse(await this.#create(owner, "/v1/reports", body)).id };
  }

  /** A webhook with the delivery of a test. */
  async #createWebhook(owner: string) {
    const body = { url: "https://hooks.example.com/", events: ["link.created"] };
    const made = await this.#create(owner, "/v1/webhooks", body);
    const { id: webhook, secret } = created.extend({ secret: z.string() }).parse(made);
    this.#onSecret(secret);
    const tested = await this.#call(owner, `/v1/webhooks/${webhook}/test`, "POST");
    const { id: delivery, event_id: event } = created
      .extend({ event_id: z.string() })
      .parse(tested.body);
    return { webhook, delivery, event };
  }

  async #create(owner: string, path: string, body: object): Promise<unknown> {
    const response = await this.#call(owner, path, "POST", body);
    expect([path, response.status]).toEqual([path, 201]);
    return response.body;
  }

  #call(key: string, path: string, method: string, body?: object) {
    const options = { key, method, ...(body === undefined ? {} : { body }) };
    return call(`${this.#stack.info().api_url}${path}`, options);
  }
}
