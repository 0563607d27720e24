/** Links of an account of a test, as its owner makes and its visitors follow them. */
import { expect } from "bun:test";

import * as z from "zod";

import { createAccount, UNLIMITED } from "./admin.ts";
import { type ApiResponse, call, callOnce, type CallOptions, errorSchema } from "./api.ts";
import type { Dns } from "./dns.ts";
import { eventually } from "./eventually.ts";
import type { SharedStack } from "./stack.ts";

export type Json = Record<string, unknown>;

const ownLink = z.looseObject({ id: z.string(), alias: z.string() });
type OwnLink = z.output<typeof ownLink>;

const ownDomain = z.looseObject({
  id: z.string(),
  domain: z.string(),
  verification: z.object({ name: z.string(), value: z.string() }),
});
export type OwnDomain = z.output<typeof ownDomain>;

/** Where links lead that are created without a URL. */
export const DESTINATION = "https://example.com/plain";

/** Latest time until a redirector has a lease of a limited link, or has given one back. */
export const RECOVERY_MS = 15_000;

export class OwnLinks {
  /** Of the account. */
  readonly id: string;
  readonly key: string;
  readonly #apiUrl: string;
  readonly #shortUrl: string;

  /** Those of a new account without limits. */
  static async start(stack: SharedStack): Promise<OwnLinks> {
    return new OwnLinks(stack.info(), await createAccount(stack, "enterprise", UNLIMITED));
  }

  constructor(
    { api_url, short_url }: { api_url: string; short_url: string },
    { id, key }: { id: string; key: string },
  ) {
    this.id = id;
    this.key = key;
    this.#apiUrl = api_url;
    this.#shortUrl = short_url;
  }

  send(path: string, method: string, body?: Json, origin = this.#apiUrl): Promise<ApiResponse> {
    return call(`${origin}${path}`, {
      key: this.key,
      method,
      ...(body === undefined ? {} : { body }),
    });
  }

  async create(body: Json = {}): Promise<OwnLink> {
    return parse(await this.send("/v1/links", "POST", { url: DESTINATION, ...body }), 201);
  }

  async read(id: string): Promise<OwnLink> {
    return parse(await this.send(`/v1/links/${id}`, "GET"), 200);
  }

  async change(id: string, body: Json): Promise<OwnLink> {
    return parse(await this.send(`/v1/links/${id}`, "PATCH", body), 200);
  }

  /** Adds a domain, and verifies it by its TXT record; returns it as it was added. */
  async addDomain(dns: Dns, domain: string): Promise<OwnDomain> {
    const added = ownDomain.parse((await this.send("/v1/domains", "POST", { domain })).body);
    const { id, verification } = added;
    dns.set(verification.name, [verification.value]);
    const { body } = await this.send(`/v1/domains/${id}/verify`, "POST");
    expect(body).toMatchObject({ status: "verified", problem: null });
    return added;
  }

  /** Tries to create a link that is refused; returns status, code and message. */
  async refuse(body: Json): Promise<[number, string, string]> {
    const response = await this.send("/v1/links", "POST", { url: DESTINATION, ...body });
    const { error } = errorSchema.parse(response.body);
    return [response.status, error.code, error.message];
  }

  follow(alias: string, request: CallOptions = {}, origin = this.#shortUrl): Promise<ApiResponse> {
    return callOnce(`${origin}/${alias}`, request);
  }

  /** Follows a link until it does not say any more that it is busy. */
  followSettled(alias: string, origin = this.#shortUrl): Promise<ApiResponse> {
    return eventually(async () => {
      const response = await this.follow(alias, {}, origin);
      expect(response.status).not.toBe(503);
      return response;
    }, RECOVERY_MS);
  }
}

function parse({ status, body }: ApiResponse, expected: number): OwnLink {
  expect([status, body]).toEqual([expected, expect.anything()]);
  return ownLink.parse(body);
}
